"""The operators that PyTorch's backward pass calls for each operator of the forward pass, where somebody sees them.

Otherwise derivatives are made by JAX, as ``dispatch/pullback.py`` says. Of an operator without a formula here the derivative is seen as one
operator of its name with ``_backward`` at the end, which is given the gradient and what the operator was given.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor
from . import OpOverload, OpOverloadPacket, operator as op, packet_of
from .expansions.shapes import reshape
from .inner import pulled

__all__ = ["SAVED_RESULTS", "Call", "filled", "gradients_as_one", "gradients_of"]

Grads = dict[str, Any]


class Call:
    """A call of an operator that has a derivative: its arguments by name, and its results."""

    def __init__(self, function: Any, args: Args, kwargs: Kwargs, tracked: Sequence[Tensor]) -> None:
        self.function = function
        self.positional, self.keywords = args, kwargs
        self.tracked = tracked  # its tensors that require a gradient
        self.edges = [tensor._edge() for tensor in tracked]
        self.before: Tensor | None = None  # what was in the first argument, where the operator has replaced it
        self.results: list[Any] = []
        self.node: Any = None  # whose results they are, if they are to have a history
        self.name: str = function._overloadpacket.__name__
        self.writes = self.name.endswith("_") and not self.name.startswith("__")
        if self.writes:
            self.name = self.name[:-1]
        self.args: dict[str, Any] = {}
        if function._signature is not None:
            arguments = function._signature.schema.arguments
            positional = [argument.name for argument in arguments if not argument.kwarg_only]
            self.args = {a.name: a.default for a in arguments if a.has_default_value()}
            self.args |= dict(zip(positional, args, strict=False)) | kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "self" and self.before is not None:
            return self.before
        return self.args[name]

    @property
    def inputs(self) -> Args:
        """The positional arguments as they were before the operator wrote to the first."""
        return self.positional if self.before is None else (self.before, *self.positional[1:])

    def wants(self, name: str) -> bool:
        """Whether the tensor of this name requires a gradient."""
        value = self.args.get(name)
        return isinstance(value, Tensor) and value.requires_grad

    def result(self, number: int = 0) -> Tensor:
        """A result, as PyTorch takes it out of what it has saved."""
        result = op("detach")(self.results[number])
        if self.node is not None:
            result._set_history(self.node, number)
        return result

    def recorded_at(self, node: Any) -> Call:
        """The call as formulas read it that are to be differentiated: its results are those of a node."""
        call: Call = copy.copy(self)
        call.node = node
        return call

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """What the operator computes, or what it writes if it is in place; no handler sees it."""
        if self.writes:
            return packet_of("aten", self.name)(*args, **kwargs)  # pyright: ignore[reportOptionalCall]
        return self.function._op(*args, **kwargs)


def gradients_of(call: Call, cotangents: dict[int, Any]) -> dict[int, Any] | None:
    """The gradients of a call's tensors by PyTorch's formula, by the ``id`` of the tensor; None where there is no formula for this call."""
    several = OF_SEVERAL.get(call.name)
    if several is not None:
        return {id(call.args["self"]): several(call, cotangents)}
    formula = FORMULAS.get(call.name)
    if formula is None or 0 not in cotangents or len(cotangents) > 1:
        return None
    by_name = formula(call, cotangents[0])
    if by_name is None:
        return None
    gradients: dict[int, Any] = {}
    covered: set[int] = set()
    for name, gradient in by_name.items():
        value = call.args[name]
        pairs = zip(value, gradient, strict=True) if isinstance(value, (list, tuple)) else [(value, gradient)]
        for tensor, its_gradient in pairs:
            covered.add(id(tensor))
            _add_gradient(gradients, tensor, its_gradient)
    if not covered.issuperset(map(id, call.tracked)):
        return None  # the formula is for numbers in the place of a tensor
    return gradients


def gradients_as_one(call: Call, cotangents: dict[int, Any]) -> dict[int, Any]:
    """The gradients of a call's tensors, by one operator that computes the operator again to differentiate it."""
    numbers = sorted(cotangents)
    args = call.inputs
    flat: list[Tensor] = []
    arguments: list[Tensor] = []
    _collect((*args, *call.keywords.values()), flat)
    _collect((*call.positional, *call.keywords.values()), arguments)
    tracked = set(map(id, call.tracked))
    tracked_positions = [i for i, tensor in enumerate(arguments) if id(tensor) in tracked]
    count = len(numbers)

    def backward(*received: Any) -> Any:
        upstream, tensors = received[:count], list(received[count:])

        def forward(*inputs: Tensor) -> Any:
            remaining = iter(inputs)
            result = call.compute(*filled(args, remaining), **filled(call.keywords, remaining))
            if not isinstance(result, (tuple, list)):
                return result
            return [result[number] for number in numbers]

        results = pulled(forward, tensors, upstream[0] if count == 1 else list(upstream), tracked_positions)
        return tuple(results[i] for i in tracked_positions)

    function = OpOverload(OpOverloadPacket(f"aten::{call.name}_backward", backward), backward, "default")
    results = function(*[cotangents[number] for number in numbers], *flat)
    gradients: dict[int, Any] = {}
    for i, gradient in zip(tracked_positions, results, strict=True):
        _add_gradient(gradients, arguments[i], gradient)
    return gradients


def _add_gradient(gradients: dict[int, Any], tensor: Tensor, gradient: Any) -> None:
    """Adds to the gradient of a tensor, which may be among the arguments more than once."""
    if gradient is not None:
        before = gradients.get(id(tensor))
        gradients[id(tensor)] = gradient if before is None else op("add", "Tensor")(before, gradient)


def _collect(values: Any, flat: list[Tensor]) -> None:
    for value in values:
        if isinstance(value, Tensor):
            flat.append(value)
        elif isinstance(value, (list, tuple)):
            _collect(value, flat)


def filled(values: Any, tensors: Any) -> Any:
    """The same with other tensors in the places of the tensors."""
    if isinstance(values, Tensor):
        return next(tensors)
    if isinstance(values, dict):
        return {name: filled(value, tensors) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)([filled(value, tensors) for value in values])
    return values


_COPIED = frozenset(("pow", "log", "sin", "cos", "abs", "clamp", "clamp_min", "gelu", "silu", "mish", "hardswish"))


def is_copied(name: str, args: Args) -> bool:
    """Whether PyTorch calls ``clone`` before an operator replaces its first argument, because the derivative reads it."""
    if name in ("mul", "div"):
        return isinstance(args[1], Tensor) and args[1].requires_grad
    return name in _COPIED


# ---- formulas


def _fitted(gradient: Tensor, like: Tensor) -> Tensor:
    """A gradient summed over the dimensions along which its tensor was repeated."""
    shape, target = gradient.shape, like.shape
    if shape != target:
        ahead = len(shape) - len(target)
        dims = [*range(ahead), *[d for d in range(ahead, len(shape)) if target[d - ahead] == 1 and shape[d] != 1]]
        if dims:
            gradient = op("sum", "dim_IntList")(gradient, dims, True)
        if ahead:
            gradient = op("view")(gradient, list(target))
    return gradient if gradient.dtype is like.dtype else op("_to_copy")(gradient, dtype=like.dtype)


def _times(gradient: Tensor, factor: Any) -> Tensor:
    return op("mul", "Tensor")(gradient, factor)


def _scaled(gradient: Tensor, number: Any) -> Tensor:
    return gradient if number == 1 else op("mul", "Tensor")(gradient, number)


def _add(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("other"):
        grads["other"] = _fitted(_scaled(g, c.alpha), c.other)
    if c.wants("self"):
        grads["self"] = _fitted(g, c.self)
    return grads


def _sub(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("other"):
        grads["other"] = _fitted(_scaled(op("neg")(g), c.alpha), c.other)
    if c.wants("self"):
        grads["self"] = _fitted(g, c.self)
    return grads


def _rsub(c: Call, g: Tensor) -> Grads:
    return {"self": _fitted(_scaled(op("neg")(g), c.alpha), c.self)}


def _mul(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("other"):
        grads["other"] = _times(g, c.self)
    if c.wants("self"):
        grads["self"] = _times(g, c.other)
    return {name: _fitted(gradient, c.args[name]) for name, gradient in grads.items()}


def _div(c: Call, g: Tensor) -> Grads | None:
    if c.args.get("rounding_mode") is not None:
        return None
    grads: Grads = {}
    divide = op("div", "Tensor")
    if c.wants("other"):
        ratio = divide(divide(c.self, c.other), c.other)
        grads["other"] = _fitted(_times(op("neg")(g), ratio), c.other)
    if c.wants("self"):
        grads["self"] = _fitted(divide(g, c.other), c.self)
    return grads


def _pow(c: Call, g: Tensor) -> Grads | None:
    if isinstance(c.exponent, Tensor) or isinstance(c.self, (int, float)):
        return None
    lower = op("mul", "Scalar")(op("pow", "Tensor_Scalar")(c.self, c.exponent - 1), c.exponent)
    return {"self": _times(g, lower)}


def _sqrt(c: Call, g: Tensor) -> Grads:
    return {"self": op("div", "Tensor")(g, op("mul", "Scalar")(c.result(), 2))}


def _sum(c: Call, g: Tensor) -> Grads:
    return {"self": _expanded(g, c.self, c.args.get("dim"), c.args.get("keepdim", False))}


def _expanded(g: Tensor, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if dim and not keepdim:
        for place in sorted(d % x.dim() for d in dim):
            g = op("unsqueeze")(g, place)
    return op("expand")(g, list(x.shape))


def _mean(c: Call, g: Tensor) -> Grads:
    dim = c.args.get("dim")
    count = math.prod(c.self.shape[d] for d in dim) if dim else c.self.numel()
    return {"self": op("div", "Scalar")(_expanded(g, c.self, dim, c.args.get("keepdim", False)), count)}


def _spread(c: Call, x: Tensor, g: Tensor) -> Tensor:
    dim, keepdim = c.args.get("dim"), c.args.get("keepdim", False)
    correction = 1 if c.args.get("correction") is None else c.correction
    if not dim:
        centred = op("sub", "Tensor")(x, op("mean")(x))
        return _times(op("mul", "Scalar")(g, 2.0 / (x.numel() - correction)), centred)
    if not keepdim:
        for place in sorted(d % x.dim() for d in dim):
            g = op("unsqueeze")(g, place)
    centred = op("sub", "Tensor")(x, op("mean", "dim")(x, dim, True))
    return _times(op("mul", "Scalar")(g, 2.0 / (math.prod(x.shape[d] for d in dim) - correction)), centred)


def _std(c: Call, g: Tensor) -> Grads:
    result = c.result()
    halved = op("div", "Tensor")(g, op("mul", "Scalar")(result, 2))
    op("masked_fill_", "Scalar")(halved, op("eq", "Scalar")(result, 0), 0)
    return {"self": _spread(c, c.self, halved)}


def _vector_norm(c: Call, g: Tensor) -> Grads | None:
    if c.ord != 2:
        return None
    result = c.result()
    if c.dim and not c.keepdim:
        for place in sorted(d % c.self.dim() for d in c.dim):
            g, result = op("unsqueeze")(g, place), op("unsqueeze")(result, place)
    ratio = op("div", "Tensor")(g, result)
    op("masked_fill_", "Scalar")(ratio, op("eq", "Scalar")(result, 0), 0)
    return {"self": _times(c.self, ratio)}


def _is_column_major(matrix: Tensor) -> bool:
    rows, columns = matrix.stride()
    return rows == 1 and columns == max(1, matrix.shape[0])


def _left(g: Tensor, other: Tensor, own: Tensor) -> Tensor:
    if _is_column_major(own):
        return op("t")(op("mm")(other, op("t")(g)))
    return op("mm")(g, op("t")(other))


def _right(g: Tensor, other: Tensor, own: Tensor) -> Tensor:
    if _is_column_major(own):
        return op("t")(op("mm")(op("t")(g), other))
    return op("mm")(op("t")(other), g)


def _matrices(c: Call, g: Tensor, first: str, second: str) -> Grads:
    grads: Grads = {}
    if c.wants(first):
        grads[first] = _left(g, c.args[second], c.args[first])
    if c.wants(second):
        grads[second] = _right(g, c.args[first], c.args[second])
    return grads


def _addmm(c: Call, g: Tensor) -> Grads | None:
    if c.beta != 1 or c.alpha != 1:
        return None
    grads = _matrices(c, g, "mat1", "mat2")
    if c.wants("self"):
        grads["self"] = _fitted(g, c.self)
    return grads


def _bmm(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("mat2"):
        grads["mat2"] = op("bmm")(op("transpose", "int")(c.self, 1, 2), g)
    if c.wants("self"):
        grads["self"] = op("bmm")(g, op("transpose", "int")(c.mat2, 1, 2))
    return grads


def _mv(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("self"):
        grads["self"] = _times(op("view")(g, [g.shape[0], 1]), c.vec)
    if c.wants("vec"):
        grads["vec"] = op("mv")(op("t")(c.self), g)
    return grads


def _dot(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    if c.wants("self"):
        grads["self"] = _times(g, c.tensor)
    if c.wants("tensor"):
        grads["tensor"] = _times(g, c.self)
    return grads


def _permute(c: Call, g: Tensor) -> Grads:
    order = [d % len(c.dims) for d in c.dims]
    return {"self": op("permute")(g, [order.index(d) for d in range(len(order))])}


def _cat(c: Call, g: Tensor) -> Grads:
    grads, start = [], 0
    for tensor in c.tensors:
        length = tensor.shape[c.dim]
        grads.append(op("slice", "Tensor")(g, c.dim, start, start + length) if tensor.requires_grad else None)
        start += length
    return {"tensors": grads}


def _stack(c: Call, g: Tensor) -> Grads:
    return {"tensors": [op("select", "int")(g, c.dim, i) if t.requires_grad else None for i, t in enumerate(c.tensors)]}


def _slice(c: Call, g: Tensor) -> Grads:
    size = c.self.shape[c.dim]
    start, end, _ = slice(c.start, c.end).indices(size)
    return {"self": op("slice_backward")(g, list(c.self.shape), c.dim, start, end, c.step)}


def _index(c: Call, g: Tensor) -> Grads:
    zeros = op("new_zeros")(g, list(c.self.shape))
    return {"self": op("index_put")(zeros, c.indices, g, True)}


def _gather(c: Call, g: Tensor) -> Grads:
    return {"self": op("scatter_add")(op("new_zeros")(g, list(c.self.shape)), c.dim, c.index, g)}


def _scattered(c: Call, g: Tensor) -> Grads:
    zeros = op("new_zeros")(g, list(c.self.shape))
    return {"self": op("scatter", "src")(zeros, c.dim, c.results[1], g)}


def _extreme(c: Call, g: Tensor) -> Grads | None:
    if "dim" not in c.args:
        return None
    indices = c.results[1]
    if not c.keepdim:
        g, indices = op("unsqueeze")(g, c.dim), op("unsqueeze")(indices, c.dim)
    return {"self": op("scatter", "src")(op("new_zeros")(g, list(c.self.shape)), c.dim, indices, g)}


def _where(c: Call, g: Tensor) -> Grads:
    grads: Grads = {}
    zero = op("scalar_tensor")(0.0, dtype=g.dtype)
    if c.wants("self"):
        grads["self"] = _fitted(op("where", "self")(c.condition, g, zero), c.self)
    if c.wants("other"):
        zero = op("scalar_tensor")(0.0, dtype=g.dtype)
        grads["other"] = _fitted(op("where", "self")(c.condition, zero, g), c.other)
    return grads


def _clamp(c: Call, g: Tensor) -> Grads | None:
    if isinstance(c.args.get("min"), Tensor) or isinstance(c.args.get("max"), Tensor):
        return None
    zero = op("scalar_tensor")(0.0, dtype=g.dtype)
    above = None if c.min is None else op("ge", "Scalar")(c.self, c.min)
    if c.args.get("max") is None:
        inside = above
    else:
        below = op("le", "Scalar")(c.self, c.max)
        inside = below if above is None else op("logical_and_")(above, below)
    return {"self": op("where", "self")(inside, g, zero)}


def _clamp_min(c: Call, g: Tensor) -> Grads:
    zero = op("scalar_tensor")(0.0, dtype=g.dtype)
    return {"self": op("where", "self")(op("ge", "Scalar")(c.self, c.min), g, zero)}


def _logsumexp(c: Call, g: Tensor) -> Grads:
    result = c.result()
    if not c.keepdim:
        for place in sorted(d % c.self.dim() for d in c.dim):
            g, result = op("unsqueeze")(g, place), op("unsqueeze")(result, place)
    return {"self": _times(g, op("exp")(op("sub", "Tensor")(c.self, result)))}


def _cumsum(c: Call, g: Tensor) -> Grads:
    return {"self": op("flip")(op("cumsum")(op("flip")(g, [c.dim]), c.dim), [c.dim])}


def _convolution(c: Call, g: Tensor) -> Grads:
    names = ("input", "weight", "bias")
    mask = [c.wants(name) for name in names]
    sizes = list(c.bias.shape) if c.bias is not None else None
    lengths = (c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups)
    gradients = op("convolution_backward")(g, c.input, c.weight, sizes if mask[2] else [0], *lengths, mask)
    return {name: gradient for name, gradient, needed in zip(names, gradients, mask, strict=True) if needed}


def _norm(name: str, names: tuple[str, ...], order: tuple[str, ...]) -> Callable[[Call, Tensor], Grads]:
    def formula(c: Call, g: Tensor) -> Grads:
        mask = [c.wants(name) for name in names]
        gradients = op(f"{name}_backward")(g, *[c.args[argument] for argument in order], mask)
        return {argument: gradient for argument, gradient, needed in zip(names, gradients, mask, strict=True) if needed}

    return formula


def _group_norm(c: Call, g: Tensor) -> Grads:
    op("detach")(c.results[1])
    op("detach")(c.results[2])
    g = op("clone")(g) if not g.is_contiguous() else g
    return _norm(
        "native_group_norm", ("input", "weight", "bias"), ("input", "weight", "bias", "N", "C", "HxW", "group", "eps")
    )(c, g)


def _through(
    name: str, *arguments: str, of_result: bool = False, overload: str = "default"
) -> Callable[[Call, Tensor], Grads]:
    """The gradient by an operator that takes it, the input or the result, and some of the arguments."""

    def formula(c: Call, g: Tensor) -> Grads:
        x = c.result() if of_result else c.self
        return {"self": op(name, overload)(g, x, *[c.args[argument] for argument in arguments])}

    return formula


def _loss(name: str, *arguments: str) -> Callable[[Call, Tensor], Grads]:
    def formula(c: Call, g: Tensor) -> Grads | None:
        return (
            None
            if c.wants("target")
            else {"self": op(f"{name}_backward")(g, c.self, c.target, *[c.args[argument] for argument in arguments])}
        )

    return formula  # pyright: ignore[reportReturnType]


def _with_logits(c: Call, g: Tensor) -> Grads | None:
    if c.weight is not None or c.pos_weight is not None or c.wants("target"):
        return None
    grad = _times(op("sub", "Tensor")(op("sigmoid")(c.self), c.target), g)
    return {"self": op("div_", "Scalar")(grad, c.self.numel()) if c.reduction == 1 else grad}


def _nll(c: Call, g: Tensor) -> Grads:
    options = (c.target, c.weight, c.reduction, c.ignore_index, c.results[1])
    return {"self": op("nll_loss_backward")(g, c.self, *options)}


def _max_pool(c: Call, g: Tensor) -> Grads:
    lengths = (c.kernel_size, c.stride, c.padding, c.dilation, c.ceil_mode)
    return {"self": op("max_pool2d_with_indices_backward")(g, c.self, *lengths, c.results[1])}


def _embedding(c: Call, g: Tensor) -> Grads:
    options = (c.indices, c.weight.shape[0], c.padding_idx, c.scale_grad_by_freq)
    return {"weight": op("embedding_dense_backward")(g, *options)}


def _gelu(c: Call, g: Tensor) -> Grads:
    options = {} if c.approximate == "none" else {"approximate": c.approximate}
    return {"self": op("gelu_backward")(g, c.self, **options)}


def _pad(c: Call, g: Tensor) -> Grads:
    return {"self": op("constant_pad_nd")(g, [-n for n in c.pad])}


def _masked_fill(c: Call, g: Tensor) -> Grads | None:
    return None if c.wants("value") else {"self": op("masked_fill", "Scalar")(g, c.mask, 0)}


def _repeat(c: Call, g: Tensor) -> Grads:
    ahead = len(c.repeats) - c.self.dim()
    shape = [1] * ahead + list(c.self.shape)
    parts = [
        n for times, size in zip(c.repeats, shape, strict=True) for n in ((times, size) if times != 1 else (size,))
    ]
    dims, place = [], 0
    for times in c.repeats:
        if times != 1:
            dims.append(place)
        place += 2 if times != 1 else 1
    summed = op("sum", "dim_IntList")(reshape(g, parts), dims) if dims else g
    return {"self": summed if summed.shape == c.self.shape else op("view")(summed, list(c.self.shape))}


def _like_input(c: Call, g: Tensor) -> Grads:
    return {"self": reshape(g, list(c.self.shape))}


def _joined(c: Call, cotangents: dict[int, Any]) -> Tensor:
    """The parts of a split, zeros where nothing came."""
    like = next(iter(cotangents.values()))
    size, dim = c.self.shape[c.dim], c.dim
    lengths = c.args.get("split_sizes")
    if lengths is None:
        lengths = [min(c.split_size, size - at) for at in range(0, max(size, 1), c.split_size)]
    shape = list(c.self.shape)
    parts: list[Any] = []
    for number, length in enumerate(lengths):
        shape[dim] = length
        zeros = number not in cotangents
        parts.append(op("zeros")(shape, dtype=like.dtype, device=like.device) if zeros else cotangents[number])
    return op("cat")(parts, *([dim] if dim else []))


def _stacked(c: Call, cotangents: dict[int, Any]) -> Tensor:
    like = next(iter(cotangents.values()))
    parts: list[Any] = []
    for number in range(c.self.shape[c.dim]):
        if number in cotangents:
            parts.append(cotangents[number])
        else:
            zero = op("zeros")([], dtype=like.dtype, device=like.device)
            parts.append(op("expand")(zero, list(like.shape)))
    return op("stack")(parts, *([c.dim] if c.dim else []))


# Those that take apart, by the numbers of the parts.
OF_SEVERAL: dict[str, Callable[[Call, dict[int, Any]], Tensor]] = {
    "split": _joined, "split_with_sizes": _joined, "unbind": _stacked,
}  # fmt: skip

FORMULAS: dict[str, Callable[[Call, Any], Grads | None]] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div, "pow": _pow, "sqrt": _sqrt,
    "neg": lambda c, g: {"self": op("neg")(g)}, "exp": lambda c, g: {"self": _times(g, c.result())},
    "log": lambda c, g: {"self": op("div", "Tensor")(g, c.self)}, "sin": lambda c, g: {"self": _times(g, op("cos")(c.self))},
    "cos": lambda c, g: {"self": _times(g, op("neg")(op("sin")(c.self)))}, "abs": lambda c, g: {"self": _times(g, op("sgn")(c.self))},
    "sum": _sum, "mean": _mean, "var": lambda c, g: {"self": _spread(c, c.self, g)}, "std": _std, "linalg_vector_norm": _vector_norm,
    "mm": lambda c, g: _matrices(c, g, "self", "mat2"), "addmm": _addmm, "bmm": _bmm, "mv": _mv, "dot": _dot,
    "t": lambda c, g: {"self": op("t")(g)}, "transpose": lambda c, g: {"self": op("transpose", "int")(g, c.dim0, c.dim1)},
    "permute": _permute, "view": _like_input, "_unsafe_view": _like_input,
    "expand": lambda c, g: {"self": _fitted(g, c.self)}, "unsqueeze": lambda c, g: {"self": op("squeeze", "dim")(g, c.dim)},
    "squeeze": lambda c, g: {"self": op("unsqueeze")(g, c.dim)} if isinstance(c.args.get("dim"), int) else None,
    "clone": lambda c, g: {"self": g}, "lift_fresh": lambda c, g: {"self": g}, "alias": lambda c, g: {"self": g},
    "contiguous": lambda c, g: {"self": g},
    "_to_copy": lambda c, g: {"self": op("_to_copy")(g, dtype=c.self.dtype) if g.dtype is not c.self.dtype else g},
    "cat": _cat, "stack": _stack, "slice": _slice, "index": _index, "gather": _gather,
    "select": lambda c, g: {"self": op("select_backward")(g, list(c.self.shape), c.dim, c.index)},
    "max": _extreme, "min": _extreme, "topk": _scattered, "sort": _scattered, "where": _where, "clamp": _clamp, "clamp_min": _clamp_min,
    "masked_fill": _masked_fill, "logsumexp": _logsumexp, "cumsum": _cumsum, "repeat": _repeat,
    "tril": lambda c, g: {"self": op("tril")(g, *([c.diagonal] if c.diagonal else []))},
    "triu": lambda c, g: {"self": op("triu")(g, *([c.diagonal] if c.diagonal else []))},
    "relu": lambda c, g: {"self": op("threshold_backward")(g, c.result(), 0)},
    "sigmoid": _through("sigmoid_backward", of_result=True), "tanh": _through("tanh_backward", of_result=True), "gelu": _gelu,
    "silu": _through("silu_backward"), "leaky_relu": lambda c, g: {"self": op("leaky_relu_backward")(g, c.self, c.negative_slope, False)},
    "elu": lambda c, g: {"self": op("elu_backward")(g, c.alpha, c.scale, c.input_scale, False, c.self)},
    "softplus": _through("softplus_backward", "beta", "threshold"), "hardtanh": _through("hardtanh_backward", "min_val", "max_val"),
    "hardswish": _through("hardswish_backward"), "hardsigmoid": _through("hardsigmoid_backward"), "mish": _through("mish_backward"),
    "_softmax": lambda c, g: {"self": op("_softmax_backward_data")(g, c.result(), c.dim, c.self.dtype)},
    "_log_softmax": lambda c, g: {"self": op("_log_softmax_backward_data")(g, c.result(), c.dim, c.self.dtype)},
    "convolution": _convolution, "embedding": _embedding, "native_group_norm": _group_norm,
    "native_layer_norm": _norm(
        "native_layer_norm", ("input", "weight", "bias"), ("input", "normalized_shape", "weight", "bias", "eps")
    ),
    "native_batch_norm": _norm(
        "native_batch_norm", ("input", "weight", "bias"),
        ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"),
    ),
    "max_pool2d_with_indices": _max_pool,
    "avg_pool2d": _through("avg_pool2d_backward", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    "_adaptive_avg_pool2d": _through("_adaptive_avg_pool2d_backward"), "constant_pad_nd": _pad,
    "mse_loss": _loss("mse_loss", "reduction"), "smooth_l1_loss": _loss("smooth_l1_loss", "reduction", "beta"),
    "huber_loss": _loss("huber_loss", "reduction", "delta"),
    "binary_cross_entropy": _loss("binary_cross_entropy", "weight", "reduction"),
    "binary_cross_entropy_with_logits": _with_logits, "nll_loss_forward": _nll,
}  # fmt: skip

# Operators whose derivative reads their results, which PyTorch takes as detached ones: by the numbers of the results.
SAVED_RESULTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("relu", "sigmoid", "tanh", "_softmax", "_log_softmax", "exp", "sqrt", "std", "linalg_vector_norm", "logsumexp", "amax", "amin",
         "prod", "rsqrt", "reciprocal", "tan", "expm1"), (0,),
    ),
    "native_group_norm": (1, 2), "_scaled_dot_product_flash_attention_for_cpu": (0,),
}  # fmt: skip
