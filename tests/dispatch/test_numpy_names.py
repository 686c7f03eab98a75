"""NumPy's names for parameters, and sizes given one by one, wherever PyTorch's functions in C++ take them."""

# pyright: reportCallIssue=false

import inspect
import re
from pathlib import Path

import pytest

import torchlike as torch
from torchlike._core.python_functions import PYTHON
from torchlike._ops.signatures import unpacked
from torchlike.dispatch.arguments import ALIASES

SIGNATURES = Path(torch.__file__).parent / "_ops" / "aten_signatures.txt.bz2"
NAMES_OF_NUMPY = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}
NAMESPACES = ("linalg", "fft", "special")


def recorded() -> dict[str, set[str]]:
    """Returns the parameters that any signature of a function has, by the function's name."""
    found: dict[str, set[str]] = {}
    for line in unpacked(SIGNATURES.read_bytes()):
        match = re.match(r"(\w+)(?:\.\w+)?\((.*)\) ->", line)
        if match and "_out" not in line.partition("(")[0] and not match[1].startswith("_"):
            names = re.findall(r"(\w+)(?:=[^,]*)?(?:,|$)", match[2])
            found.setdefault(match[1], set()).update("input" if name == "self" else name for name in names)
    return found


def public(name: str):
    space, _, rest = name.partition("_")
    home = getattr(torch, space) if space in NAMESPACES else torch
    return getattr(home, rest if space in NAMESPACES else name, None)


def takes(function, own: str) -> bool:
    """Whether torchlike declares the function with a parameter of PyTorch's name; a few have another, or are plain Python."""
    if not hasattr(function, "declared"):
        return False
    parameters = inspect.signature(function).parameters
    return own in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def own_names(signature: str) -> set[str]:
    """The names in a recorded signature, without those of results to write into."""
    return set(re.findall(r"(\w+)(?:=[^,]*)?(?:,|$)", re.sub(r"\w+\(\w!\)\S* \w+", "", signature))) - {""}


# Parameters that other rules are for: where the result lies, and how PyTorch's accelerators compute products.
OPTIONS = {"out", "dtype", "layout", "device", "pin_memory", "generator", "memory_format", "out_dtype"}


def test_parameters_have_pytorchs_names():
    lacking = {}
    for line in unpacked(SIGNATURES.read_bytes()):
        match = re.match(r"(\w+)(?:\.\w+)?\((.*)\) ->", line)
        function = match and not match[1].startswith("_") and match[1] not in PYTHON["torch"] and public(match[1])
        if not match or not function or not hasattr(function, "declared"):
            continue
        parameters = inspect.signature(function).parameters
        names = {"input" if name == "self" else name for name in own_names(match[2])} - OPTIONS
        known = {other for other, own in ALIASES.items() if own in parameters} | set(parameters)
        if names - known and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            lacking[line.partition("(")[0]] = names - known
    # What PyTorch calls that has no form in Python.
    assert lacking == {"normal.out": {"input"}}


CASES = [
    (name, own, other)
    for name, parameters in sorted(recorded().items())
    for own, others in NAMES_OF_NUMPY.items()
    if own in parameters and takes(public(name), own) and name not in PYTHON["torch"]
    for other in others
    if other not in parameters
]


def test_the_names_are_looked_for_in_hundreds_of_functions():
    assert len({name for name, _, _ in CASES}) > 300


@pytest.mark.parametrize(("name", "own", "other"), CASES, ids=["-".join(case) for case in CASES])
def test_every_function_takes_numpys_name(name, own, other):
    with pytest.raises(Exception) as caught:
        public(name)(**{other: object()})  # pyright: ignore[reportOptionalCall]
    assert f"unexpected keyword argument '{other}'" not in str(caught.value)


X = torch.arange(6.0).reshape(2, 3)
I = torch.zeros(2, 3, dtype=torch.long)  # noqa: E741
# What PyTorch gives: the shape and the first elements.
RESULTS = {
    "linalg.norm": (lambda: torch.linalg.norm(X, axis=1, keepdims=True), (2, 1), [2.236068, 7.0710678]),
    "linalg.vector_norm": (lambda: torch.linalg.vector_norm(input=X, axis=1), (2,), [2.236068, 7.0710678]),
    "linalg.cond": (lambda: torch.linalg.cond(x=torch.eye(2), p=1), (), [1]),
    "linalg.pinv": (lambda: torch.linalg.pinv(a=torch.eye(2)), (2, 2), [1, 0, 0, 1]),
    "linalg.eigvalsh": (lambda: torch.linalg.eigvalsh(input=torch.eye(2)), (2,), [1, 1]),
    "linalg.lstsq": (lambda: torch.linalg.lstsq(input=torch.eye(2), b=torch.eye(2))[0], (2, 2), [1, 0, 0, 1]),
    "linalg.tensorsolve": (lambda: torch.linalg.tensorsolve(torch.eye(2), other=torch.ones(2)), (2,), [1, 1]),
    "hsplit": (lambda: torch.hsplit(X, sections=3)[0], (2, 1), [0, 3]),
    "isin": (lambda: torch.isin(element=1, test_elements=X), (), [1]),
    "one_hot": (lambda: torch.nn.functional.one_hot(input=I[0], num_classes=2), (3, 2), [1, 0]),
    "resize_": (lambda: X.clone().resize_(size=(3, 2)), (3, 2), [0, 1]),
    "special.airy_ai": (lambda: torch.special.airy_ai(x=torch.zeros(2)), (2,), [0.355028]),
    "linalg.matrix_norm": (
        lambda: torch.linalg.matrix_norm(X[None], axis=(1, 2), keepdims=True),
        (1, 1, 1),
        [7.4161983],
    ),
    "sort": (lambda: torch.sort(X, axis=0)[0], (2, 3), [0, 1, 2]),
    "Tensor.sort": (lambda: X.sort(axis=0)[0], (2, 3), [0, 1, 2]),
    "diff": (lambda: torch.diff(X, axis=0), (1, 3), [3, 3, 3]),
    "quantile": (lambda: torch.quantile(X, 0.5, axis=0, keepdims=True), (1, 3), [1.5, 2.5, 3.5]),
    "nanquantile": (lambda: torch.nanquantile(X, 0.5, axis=0, keepdims=True), (1, 3), [1.5, 2.5, 3.5]),
    "take_along_dim": (lambda: torch.take_along_dim(X, I, axis=1), (2, 3), [0, 0, 0]),
    "maximum": (lambda: torch.maximum(x1=X, x2=X), (2, 3), [0, 1, 2]),
    "Tensor.maximum": (lambda: X.maximum(x2=X), (2, 3), [0, 1, 2]),
    "add": (lambda: torch.add(x1=X, x2=X), (2, 3), [0, 2, 4]),
    "chunk": (lambda: torch.chunk(X, 2, axis=1)[0], (2, 2), [0, 1, 3]),
    "tensor_split": (lambda: torch.tensor_split(X, 2, axis=1)[0], (2, 2), [0, 1, 3]),
    "argsort": (lambda: torch.argsort(X, axis=0), (2, 3), [0, 0, 0]),
    "repeat_interleave": (lambda: torch.repeat_interleave(X, 2, axis=0), (4, 3), [0, 1, 2]),
    "cross": (lambda: torch.cross(X, X, axis=1), (2, 3), [0, 0, 0]),
    "where": (lambda: torch.where(X > 1, x1=X, x2=X), (2, 3), [0, 1, 2]),
    "matmul": (lambda: torch.matmul(x1=X, x2=X.T), (2, 2), [5, 14, 14]),
    "pow": (lambda: torch.pow(x1=X, exponent=2), (2, 3), [0, 1, 4]),
    "scatter": (lambda: torch.scatter(X, axis=0, index=I, src=X), (2, 3), [3, 4, 5]),
    "sum": (lambda: torch.sum(x1=X, axis=0, keepdims=True), (1, 3), [3, 5, 7]),
    "sum into": (lambda: torch.sum(X, axis=0, out=torch.empty(3)), (3,), [3, 5, 7]),
    "broadcast_to": (lambda: X.broadcast_to(2, 2, 3), (2, 2, 3), [0, 1, 2]),
    "count_nonzero": (lambda: X.count_nonzero(0, 1), (), [5]),
    "squeeze": (lambda: X[None, None].squeeze(0, 1), (2, 3), [0, 1, 2]),
    "squeeze_": (lambda: X.clone()[None, None].squeeze_(0, 1), (2, 3), [0, 1, 2]),
    "tile": (lambda: X.tile(2, 2), (4, 6), [0, 1, 2]),
    "sum_to_size": (lambda: X.sum_to_size(1, 3), (1, 3), [3, 5, 7]),
}


@pytest.mark.parametrize(("call", "shape", "start"), RESULTS.values(), ids=RESULTS)
def test_gives_what_pytorch_gives(call, shape, start):
    result = call()
    assert result.shape == shape
    assert result.flatten()[: len(start)].tolist() == pytest.approx(start)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.flip(X, axis=(0,)),  # it has ``dims``
        lambda: torch.roll(X, 1, axes=0),
        lambda: torch.rot90(X, 1, axes=(0, 1)),
        lambda: torch.unique(X, axis=0),  # in Python
        lambda: torch.sort(X, dim=0, axis=0),
        lambda: X.split(1, axis=0),
        lambda: X.amax(0, 1, 1),
        lambda: torch.linalg.norm(A=X),
        lambda: torch.special.airy_ai(input=X),
        lambda: X.kthvalue(1, keepdim=True, keepdims=True),
    ],
)
def test_refuses_what_pytorch_refuses(call):
    with pytest.raises(TypeError):
        call()
