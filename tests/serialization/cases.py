"""Values that are saved and loaded, made with torchlike or with PyTorch, and `described`, which compares them completely."""

from collections import Counter, OrderedDict
from typing import Any

DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128", "bool", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
UNTYPED = (
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
)  # PyTorch's legacy format cannot hold these


def _views(torch: Any) -> Any:
    whole = torch.arange(24.0).reshape(4, 6)
    return {
        "part": whole[1:3, ::2],
        "whole": whole,
        "transposed": whole.t(),
        "column": whole[:, 2],
        "row": whole[3],
        "shape": whole.view(2, 2, 6),
        "permuted": whole.view(2, 2, 6).permute(2, 0, 1),
        "repeated": whole[0:1].expand(3, 6),
        "apart": torch.ones(2),
    }


def _marked(torch: Any) -> Any:
    tensor, parameter = torch.ones(2), torch.nn.Parameter(torch.zeros(1))
    tensor.note, parameter.rank = "kept", 3
    return [tensor, parameter]


def _shared(torch: Any) -> Any:
    one = torch.ones(3)
    return {"one": one, "again": one, "detached": one.detach(), "frozen": torch.nn.Parameter(one, requires_grad=False)}


CASES: dict[str, Any] = {
    "dtypes": lambda torch: {n: torch.tensor([0, 1, 1, 0]).to(getattr(torch, n)) for n in DTYPES if n not in UNTYPED},
    "untyped": lambda torch: {n: torch.tensor([0, 1, 1, 0]).to(getattr(torch, n)) for n in UNTYPED},
    "views": _views,
    "shared": _shared,
    "conjugate": lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj(),
    "negative": lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    "odd sizes": lambda torch: [torch.tensor(2.5), torch.zeros(0), torch.zeros(2, 0, 3), torch.ones(1, 1)],
    "special values": lambda torch: torch.tensor([float("inf"), -0.0, 1e-45]),
    "requires grad": lambda torch: [torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(1))],
    "attributes": _marked,
    "buffers": lambda torch: [torch.nn.Buffer(torch.ones(2)), torch.nn.Buffer(torch.ones(1), persistent=False)],
    "words of torch": lambda torch: [torch.Size([2, 3]), torch.device("cuda:1"), torch.device("cpu"), torch.bfloat16, torch.strided],
    "python": lambda torch: [None, True, -5, 2**40, 2**100, 1.5, 2j, "é", b"\x00\xff", bytearray(b"ab"), (1,), (1, 2), (1, 2, 3, 4)],
    "containers": lambda torch: {
        "ordered": OrderedDict(a=1, b=OrderedDict()),
        "counted": Counter("aab"),
        "set": {1},
        3: [[], {}, (), [torch.ones(1)]],
    },
    "state of a model": lambda torch: torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict(),
}  # fmt: skip
LEGACY = [name for name in CASES if name != "untyped"]


def trained(torch: Any) -> Any:
    """Returns a model and an optimizer after a training step."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(2, 3, bias=False), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 1)
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.arange(8.0).reshape(4, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def described(value: Any) -> Any:
    """Describes a value completely without naming its library: equal for torchlike's and PyTorch's."""
    kind = type(value).__name__
    if hasattr(value, "storage_offset"):
        attributes = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return {
            "kind": kind,
            "dtype": str(value.dtype),
            "size": list(value.shape),
            "stride": list(value.stride()),
            "offset": value.storage_offset(),
            "requires_grad": value.requires_grad,
            "device": str(value.device),
            "buffer": vars(value).get("_is_buffer", False),
            "attributes": described(attributes),
            "values": repr(value.detach().tolist()),
        }
    if isinstance(value, dict):
        more = described(vars(value)) if vars(type(value)).get("__dict__") or hasattr(value, "_metadata") else None
        return {"kind": kind, "items": [[described(k), described(v)] for k, v in value.items()], "more": more}
    if isinstance(value, (list, tuple, set)):
        return {"kind": kind, "items": [described(each) for each in value]}
    return {"kind": kind, "value": repr(value)}
