"""The calls on which tests run the operators declared in `torchlike/ops`, with inputs that do not depend on the machine."""

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from torchlike.dispatch.opdef import CATALOG, INDICES, OPERAND, Category, Op, Sample

CATEGORY_OF = {
    "bool": "bool", "uint8": "integer", "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
    "float16": "float", "bfloat16": "float", "float32": "float", "float64": "float",
    "complex64": "complex", "complex128": "complex",
}  # fmt: skip
# Without dtypes of its own, a sample uses one dtype of each category, because compiling a signature takes some 20 ms.
STANDARD = {Category.FLOAT: "float32", Category.INTEGER: "int64", Category.BOOL: "bool", Category.COMPLEX: "complex64"}


class Call(NamedTuple):
    """One call of one op on one dtype."""

    op: Op
    number: int  # of the sample
    dtype: str

    @property
    def sample(self) -> Sample:
        return self.op.samples[self.number]

    @property
    def key(self) -> str:
        return f"{self.op.name}/{self.number}/{self.dtype}"


def dtypes_of(op: Op, number: int) -> list[str]:
    """The dtypes of a sample: its own if it has any; else one of each category for the op's first sample, and one for the others."""
    named = op.samples[number].dtypes
    if named is not None:
        return [d for d in named if Category[CATEGORY_OF[d].upper()] in op.dtype_rule.accepts]
    accepted = [dtype for category, dtype in STANDARD.items() if category in op.dtype_rule.accepts]
    return accepted if number == 0 else accepted[:1]


def every_call() -> Iterator[Call]:
    """Yields all calls of the catalogue, ordered by name."""
    for name in sorted(CATALOG):
        op = CATALOG[name]
        for number in range(len(op.samples)):
            for dtype in dtypes_of(op, number):
                yield Call(op, number, dtype)


def other_calls() -> Iterator[Call]:
    """Yields the first sample of each op with the dtypes that the op refuses."""
    for name in sorted(CATALOG):
        op = CATALOG[name]
        if op.samples and op.samples[0].dtypes is None:
            for category, dtype in STANDARD.items():
                if category not in op.dtype_rule.accepts:
                    yield Call(op, 0, dtype)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, sample: Sample) -> np.ndarray:
    """Draws the elements of a tensor: uniform if the sample has bounds, else normal; integers are small and all different."""
    low, high = sample.low, sample.high
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if CATEGORY_OF[dtype] == "integer":
        if low is None or high is None:  # all different, because a sort may put equal elements in any order
            count = int(np.prod(shape))
            return (rng.permutation(count) - (0 if dtype == "uint8" else count // 2)).reshape(shape).astype(dtype)
        return rng.integers(int(np.floor(low)), int(high) + 1, shape).astype(dtype)

    def real() -> np.ndarray:
        return rng.standard_normal(shape) if low is None or high is None else rng.uniform(low, high, shape)

    numbers = real() + 1j * real() if CATEGORY_OF[dtype] == "complex" else real()
    return np.asarray(numbers).astype("float32" if dtype in ("bfloat16", "float16") else dtype)


def arguments(call: Call) -> tuple[list[Any], dict[str, Any], str]:
    """Returns positional arguments with NumPy arrays for tensors, keyword arguments, and the role of each positional argument.

    The sample's tensors go to the parameters that take tensors, in order. Its other arguments go to the other parameters, and to
    parameters that take tensors once no tensor is left. A role is a letter: "t" is a tensor of the call's dtype, "i" a tensor with a
    dtype of its own, "l" a list of tensors of the call's dtype, "j" a list of tensors with their own dtypes, "n" anything else.
    """
    op, sample = call.op, call.sample
    rng = np.random.default_rng(zlib.crc32(call.key.encode()))
    own = np.dtype("float32" if call.dtype in ("bfloat16", "float16") else call.dtype)
    tensors: list[Any] = [random_array(rng, shape, call.dtype, sample) for shape in sample.shapes]
    tensors += [np.array(v) for v in sample.values]
    parameters = op.parameters
    rest, given, roles = list(sample.args), [], ""
    for i in range(parameters.positional):
        role, annotation = op.roles[i], parameters.annotations[i]
        if annotation in ("list[Array]", "list[Indices]") and tensors:
            given.append([t.astype(own) for t in tensors] if role == OPERAND else tensors)
            tensors, roles = [], roles + ("l" if role == OPERAND else "j")
        elif role in (OPERAND, INDICES) and tensors:
            array = tensors.pop(0)
            given.append(array.astype(own) if role == OPERAND else array)
            roles += "t" if role == OPERAND else "i"
        elif rest:
            given.append(rest.pop(0))
            roles += "n"
        else:
            break
    assert not tensors, f"{call.key}: more tensors than parameters"
    assert not rest, f"{call.key}: more arguments than parameters"
    return given, dict(sample.kwargs), roles


def cotangent(call: Call, number: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Draws the gradient of one output, from which the backward pass starts."""
    rng = np.random.default_rng(zlib.crc32(f"{call.key}/{number}".encode()))
    return random_array(rng, tuple(shape), dtype, Sample())
