"""Which node PyTorch's tracer makes of a function's call: its kind and its inputs, in PyTorch's order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["GETTERS", "LISTS", "PLANS", "SILENT", "WRAPPING", "arguments_of", "bound", "own_name"]

# Attributes that are tensors made for the purpose, and functions that make no node.
GETTERS = {"T": "numpy_T", "mT": "mT", "real": "real", "imag": "imag"}
SILENT = frozenset(["requires_grad_", "retain_grad", "register_hook"])
# Operators whose result is one list, and those to which a number is a tensor.
LISTS = frozenset(
    [
        "broadcast_tensors",
        "chunk",
        "dsplit",
        "hsplit",
        "meshgrid",
        "split",
        "split_with_sizes",
        "tensor_split",
        "unbind",
        "vsplit",
    ]
)
WRAPPING = frozenset(["add", "div", "mul", "sub"])
# Functions that are others to the tracer.
_OTHERS = {
    "moveaxis": "movedim", "swapaxes": "transpose", "swapdims": "transpose", "__invert__": "bitwise_not",
    **dict.fromkeys(["double", "float", "long", "half", "bfloat16", "int", "bool", "short"], "to"),
}  # fmt: skip


def own_name(func: Any, space: str, short: str) -> str:
    """The kind that has the function's own name, or that of which it is another name."""
    declared = getattr(func, "declared", None)
    if declared is not None and short in declared.aliases:
        short = declared.name
    namespace = space.rpartition(".")[2]
    return f"{namespace}_{short}" if namespace in ("linalg", "fft", "special") else _OTHERS.get(short, short)


def _signature(func: Any) -> inspect.Signature:
    declared = getattr(func, "declared", None)
    return inspect.signature(func if declared is None else declared.source)


def bound(func: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """The arguments by the names of the parameters, with defaults."""
    found = _signature(func).bind(*args, **kwargs)
    found.apply_defaults()
    return dict(found.arguments)


def arguments_of(func: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[object]:
    """The arguments in the order of the parameters, which is PyTorch's, with defaults."""
    try:
        parameters, found = _signature(func).parameters, bound(func, args, kwargs)
    except TypeError:  # called as PyTorch's functions in C++ may be called besides: with NumPy's names, or sizes spread
        return [*args, *kwargs.values()]
    flat: list[object] = []
    for name, value in found.items():
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            flat.extend(value)
        elif parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            flat.extend(value.values())
        elif name != "out":
            flat.append(value)
    return flat


_Plan = Callable[..., tuple[str, list[object]]]


def _takes(kind: str, *names: str, last: tuple[object, ...] = ()) -> _Plan:
    """One node, with these of the arguments; its name ends in ``_`` where the call is in place."""

    def plan(inplace: bool = False, **given: object) -> tuple[str, list[object]]:
        return kind + "_" * inplace, [*(given[name] for name in names), *last]

    return plan


def _convolution(transposed: bool, dims: int) -> _Plan:
    def plan(
        input: Any, weight: object, bias: object, stride: object, padding: object, dilation: object, groups: object,
        output_padding: object = 0,
    ) -> tuple[str, list[object]]:  # fmt: skip
        if isinstance(padding, str) or input.dim() != dims + 2:
            return "", []  # of several nodes
        spread = [
            [each] * dims if isinstance(each, int) else each for each in (stride, padding, dilation, output_padding)
        ]
        return "_convolution", [
            input, weight, bias, *spread[:3], transposed, spread[3], groups, False, False, True, True,
        ]  # fmt: skip

    return plan


def _interpolate(
    input: Any, size: object, scale_factor: object, mode: str, align_corners: object, recompute_scale_factor: object, antialias: bool
) -> tuple[str, list[object]]:  # fmt: skip
    if recompute_scale_factor or antialias or mode in ("area", "nearest-exact"):
        return "", []
    dims = input.dim() - 2
    spread = [[each] * dims if isinstance(each, (int, float)) else each for each in (size, scale_factor)]
    own = "nearest" if mode == "nearest" else mode.removeprefix("bi").removeprefix("tri")
    kind = (
        "nearest"
        if own == "nearest"
        else {"linear": ["linear", "bilinear", "trilinear"][dims - 1], "cubic": "bicubic"}[own]
    )
    corners = [] if kind == "nearest" else [bool(align_corners)]
    return f"upsample_{kind}{dims}d", [input, spread[0], *corners, spread[1]]


def _pool(kind: str) -> _Plan:
    def plan(return_indices: bool = False, **given: object) -> tuple[str, list[object]]:
        indices = "_with_indices" * return_indices
        stride = given["kernel_size"] if given["stride"] is None else given["stride"]
        return kind + indices, [
            given["input"], given["kernel_size"], stride, given["padding"], given["dilation"], given["ceil_mode"],
        ]  # fmt: skip

    return plan


def _split(
    split_size_or_sections: object = None, split_size: object = None, dim: int = 0, **given: object
) -> tuple[str, list[object]]:
    sizes = split_size if split_size_or_sections is None else split_size_or_sections
    (tensor,) = given.values()
    return "split" if isinstance(sizes, int) else "split_with_sizes", [tensor, sizes, dim]


def _operator(kind: str) -> _Plan:
    return lambda **given: (kind, [*given.values()])


def _einsum(args: tuple[Any, ...]) -> tuple[str, list[object]]:
    equation, *operands = args
    if not isinstance(equation, str):
        return "", []
    return "einsum", [equation, operands[0] if isinstance(operands[0], (tuple, list)) else operands, None]


def _functions() -> dict[str, _Plan]:
    plans: dict[str, _Plan] = {
        "batch_norm": _takes(
            "batch_norm", "input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps", last=(True,)
        ),
        "layer_norm": _takes("layer_norm", "input", "normalized_shape", "weight", "bias", "eps", last=(True,)),
        "group_norm": _takes("group_norm", "input", "num_groups", "weight", "bias", "eps", last=(True,)),
        "instance_norm": _takes(
            "instance_norm", "input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps", last=(True,)
        ),
        "dropout": _takes("dropout", "input", "p", "training"),
        "dropout2d": _takes("feature_dropout", "input", "p", "training"),
        "embedding": _takes("embedding", "weight", "input", "padding_idx", "scale_grad_by_freq", "sparse"),
        "softmax": _takes("softmax", "input", "dim", "dtype"),
        "log_softmax": _takes("log_softmax", "input", "dim", "dtype"),
        "hardtanh": _takes("hardtanh", "input", "min_val", "max_val"),
        "leaky_relu": _takes("leaky_relu", "input", "negative_slope"),
        "glu": _takes("glu", "input", "dim"),
        "interpolate": _interpolate,
    }  # fmt: skip
    for name in ("relu", "relu6", "hardsigmoid", "hardswish", "mish", "silu", "selu"):
        plans[name] = _takes(name, "input")
    for name in ("elu", "celu"):
        plans[name] = _takes(name, "input", "alpha")
    for dims in (1, 2, 3):
        plans[f"conv{dims}d"] = _convolution(False, dims)
        plans[f"conv_transpose{dims}d"] = _convolution(True, dims)
        plans[f"max_pool{dims}d"] = _pool(f"max_pool{dims}d")
        if dims > 1:
            plans[f"adaptive_avg_pool{dims}d"] = _takes(f"adaptive_avg_pool{dims}d", "input", "output_size")
    return {f"torch.nn.functional.{name}": plan for name, plan in plans.items()}


PLANS: dict[str, _Plan] = {
    **_functions(),
    "torch.functional.einsum": _einsum,
    "torch.functional.split": _split,
    "torch.Tensor.split": _split,
    "torch.Tensor.__pow__": _operator("pow"),
    "torch.Tensor.__rsub__": _operator("rsub"),
    "torch.Tensor.unflatten": _takes("unflatten", "input", "dim", "sizes"),
}
