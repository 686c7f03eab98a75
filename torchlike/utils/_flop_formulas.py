"""The numbers of multiplications and additions of operations, and the ATen operators for which PyTorch's FlopCounterMode counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..dispatch.lowering import TENSOR
from ..ops.nn.attention import FLASH, backward_name

__all__ = ["FORMULAS", "Call", "Counts"]

Counts: TypeAlias = "Iterator[tuple[str, int]]"  # the name of PyTorch's operator, and the number of operations
Shape: TypeAlias = "tuple[int, ...]"


class Call:
    """One operation, as an argument of a formula: its arguments by name, with an aval in place of each tensor.

    ``given``: the tensors themselves, in the forward pass. ``wanted``: the numbers of the inputs that get a gradient, in the backward
    pass; None in the forward pass.
    """

    def __init__(self, kernel: Any, given: Sequence[Any] = (), wanted: Sequence[int] | None = None) -> None:
        names, avals = kernel.op.parameters.names, iter(kernel.in_avals)
        self.given = dict(zip(names, given, strict=False))
        self.wanted = wanted
        self.out: Shape = kernel.out_avals[0].shape
        self.numbers: dict[str, list[int]] = {}  # by parameter: the numbers of the kernel's inputs that are its tensors
        self.arguments: dict[str, Any] = {}
        count = 0
        for name, arg in zip(names, kernel.args, strict=True):
            tensors = [element is TENSOR for element in arg] if isinstance(arg, (list, tuple)) else [arg is TENSOR]
            self.numbers[name] = list(range(count, count + sum(tensors)))
            count += sum(tensors)
            if arg is TENSOR:
                self.arguments[name] = next(avals)
            elif any(tensors):
                self.arguments[name] = [next(avals) if element is TENSOR else element for element in arg]
            else:
                self.arguments[name] = arg

    def shape(self, name: str) -> Shape:
        """Returns the shape of a tensor argument."""
        return self.arguments[name].shape

    def gets_gradient(self, name: str, place: int = 0) -> bool:
        """Whether the backward pass computes the gradient of an argument. ``place``: in a list of tensors."""
        numbers = self.numbers[name]
        return self.wanted is not None and len(numbers) > place and numbers[place] in self.wanted

    def products(self, forward: str, backward: str, flops: int, *factors: str) -> Counts:
        """Returns the counts of a product: one forward; backward an equal one for each factor that gets a gradient."""
        if self.wanted is None:
            yield forward, flops
            return
        for name in factors:
            if self.gets_gradient(name):
                yield backward, flops


def _multiply_adds(rows: int, between: int, columns: int) -> int:
    return 2 * rows * between * columns


def _mm(call: Call) -> Counts:
    (rows, between), (_, columns) = call.shape("input"), call.shape("mat2")
    return call.products("mm", "mm", _multiply_adds(rows, between, columns), "input", "mat2")


def _bmm(call: Call) -> Counts:
    (batch, rows, between), (_, _, columns) = call.shape("input"), call.shape("mat2")
    return call.products("bmm", "bmm", batch * _multiply_adds(rows, between, columns), "input", "mat2")


def _addmm(call: Call) -> Counts:
    (rows, between), (_, columns) = call.shape("mat1"), call.shape("mat2")
    return call.products("addmm", "mm", _multiply_adds(rows, between, columns), "mat1", "mat2")


def _baddbmm(call: Call) -> Counts:
    (batch, rows, between), (_, _, columns) = call.shape("batch1"), call.shape("batch2")
    return call.products("baddbmm", "bmm", batch * _multiply_adds(rows, between, columns), "batch1", "batch2")


def _addbmm(call: Call) -> Counts:
    # PyTorch's counter counts the products of its derivative but not the operator itself.
    return (count for count in _baddbmm(call) if call.wanted is not None)


def _vector_by_matrix(call: Call) -> Counts:
    between, columns = call.shape("other")
    return call.products("mm", "mm", _multiply_adds(1, between, columns), "input", "other")


def _stacked(call: Call) -> Counts:
    left, right = call.shape("input"), call.shape("other")
    if 1 in (len(left), len(right)):
        return iter(())  # PyTorch computes it by ``mv``, which its counter does not count
    flops = 2 * math.prod(call.out) * left[-1]
    kind = "mm" if _folded(call, len(left), len(right)) else "bmm"
    return call.products(kind, kind, flops, "input", "other")


def _folded(call: Call, left: int, right: int) -> bool:
    """Whether PyTorch flattens a stack of matrices into one, which it does if the other operand is a single matrix."""
    if min(left, right) > 2:
        return False
    matrix, stack = ("other", "input") if right == 2 else ("input", "other")
    if call.wanted is not None:
        return call.gets_gradient(matrix) or right == 2
    return call.given[matrix].requires_grad or (right == 2 and call.given[stack].is_contiguous())


def _linear(call: Call) -> Counts:
    input, weight = call.shape("input"), call.shape("weight")
    flops = 2 * math.prod(input[:-1]) * math.prod(weight)
    added = call.arguments["bias"] is not None
    if call.wanted is None and len(input) > 2:
        added = added and call.given["input"].is_contiguous()
    return call.products("addmm" if added else "mm", "mm", flops, "input", "weight")


def _inner(call: Call) -> Counts:
    left, right = call.shape("input"), call.shape("other")
    if 1 in (len(left), len(right)):
        return iter(())
    return call.products("mm", "mm", 2 * math.prod(call.out) * left[-1], "input", "other")


def _tensordot(call: Call) -> Counts:
    summed = math.prod(call.shape("a")[d] for d in call.arguments["dims_a"])
    return call.products("mm", "mm", 2 * math.prod(call.out) * summed, "a", "b")


def _einsum(call: Call) -> Counts:
    """Counts the contractions of ``einsum``, from left to right, two operands at a time. A step that sums nothing multiplies elements."""
    shapes = [aval.shape for aval in call.arguments["operands"]]
    terms, result = call.arguments["terms"], call.arguments["result"]
    size: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        size |= {letter: n for letter, n in zip(term, shape, strict=True) if n != 1}
    left = {letter for letter in terms[0] if letter in size}
    for place in range(1, len(terms)):
        right = {letter for letter in terms[place] if letter in size}
        later = set(result).union(*terms[place + 1 :])
        kept_letters = (left | right) & later
        summed = (left & right) - later
        if summed:
            flops = 2 * math.prod(size[letter] for letter in kept_letters | summed)
            if call.wanted is None:
                yield "bmm", flops
            else:
                before = any(call.gets_gradient("operands", earlier) for earlier in range(place))
                for _ in range(before + call.gets_gradient("operands", place)):
                    yield "bmm", flops
        left = kept_letters


def _convolution(call: Call, transposed: bool = False) -> Counts:
    """A convolution. As in PyTorch, the gradient of the weight is counted as if there were one group."""
    input, weight = call.shape("input"), call.shape("weight")
    steps = input if transposed else call.out
    flops = 2 * math.prod(steps[2:]) * math.prod(weight) * input[0]
    if call.wanted is None:
        yield "convolution", flops
        return
    backward = flops * call.gets_gradient("input")
    if call.gets_gradient("weight"):
        backward += 2 * math.prod(weight[2:]) * math.prod(steps[2:]) * input[0] * input[1] * call.out[1]
    yield "convolution_backward", backward


def _attention(call: Call) -> Counts:
    query, key, value = (call.shape(name) for name in ("query", "key", "value"))
    if backward_name(*call.arguments.values()) == FLASH:
        return  # on a CPU it is one operator, which PyTorch's counter does not count
    pairs = 2 * math.prod(call.out[:-1]) * key[-2]
    scores, sums = pairs * query[-1], pairs * value[-1]
    if call.wanted is None:
        yield "bmm", scores + sums
        return
    of_scores = call.gets_gradient("query") + call.gets_gradient("key")
    yield "bmm", scores * of_scores + sums * (bool(of_scores) + call.gets_gradient("value"))


def _cell(call: Call) -> Counts:
    """One step of a recurrent layer."""
    rows = call.shape("input")[0]
    for x, weight in (("input", "w_ih"), ("hx", "w_hh")):
        flops = 2 * rows * math.prod(call.shape(weight))
        yield from call.products("addmm" if call.arguments["b_ih"] is not None else "mm", "mm", flops, x, weight)


def _recurrent(call: Call) -> Counts:
    """Counts the layers of a recurrent module. PyTorch computes one product for all inputs of a layer, and one for each step."""
    plan, sizes = call.arguments["plan"], call.arguments["batch_sizes"]
    input, hidden = call.arguments["input"], call.arguments["hidden"][0]
    fused = plan.mode == "LSTM" and not plan.projected and sizes is None and np.dtype(input.dtype) != np.float64
    if fused:
        return  # each layer is one operator, which PyTorch's counter does not count
    count = 2 + 2 * plan.has_biases + plan.projected
    weights = call.arguments["weights"]
    rows = math.prod(input.shape[:-1])
    layers = len(weights) // count
    directions = 1 + plan.bidirectional
    with_gradient = call.gets_gradient("input")
    for number in range(layers):
        w_ih, w_hh, *biases_and_projection = weights[number * count : (number + 1) * count]
        into = 2 * rows * math.prod(w_ih.shape)
        along = 2 * rows * math.prod(w_hh.shape)
        project = 2 * rows * math.prod(biases_and_projection[-1].shape) if plan.projected else 0
        if call.wanted is None:
            added = "addmm" if plan.has_biases else "mm"
            in_order = number >= directions or sizes is not None or call.given["input"].is_contiguous()
            yield added if in_order else "mm", into
            yield added, along
            yield "mm", project
            continue
        first = 2 * hidden.shape[1] * math.prod(w_hh.shape) * (not call.gets_gradient("hidden"))
        trained = call.gets_gradient("weights", number * count)
        below = with_gradient if number < directions else True
        yield "mm", into * (below + trained) + along * (1 + trained) - first + 2 * project


FORMULAS: dict[str, Callable[[Call], Counts]] = {
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "addbmm": _addbmm,
    "_matmul_vector": _vector_by_matrix,
    "_matmul_stacked": _stacked,
    "_linear": _linear,
    "_inner": _inner,
    "_tensordot": _tensordot,
    "_einsum": _einsum,
    "convolution": _convolution,
    "_convolution_transposed": lambda call: _convolution(call, transposed=True),
    "_attention": _attention,
    "rnn_tanh_cell": _cell,
    "rnn_relu_cell": _cell,
    "gru_cell": _cell,
    "lstm_cell": _cell,
    "_rnn_run": _recurrent,
    # Its inputs include the results of ``_rnn_run``, which has counted the forward pass.
    "_rnn_outputs": lambda call: iter(()) if call.wanted is None else _recurrent(call),
}
