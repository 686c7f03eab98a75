"""Checks the indices of an op when it is called, if they are known by then: the error names the line, and no program checks them again."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np

from .._core.tensor import Tensor
from ..engine.aval import CPU
from ..engine.recorder import Operation
from ..engine.value import Value
from .lowering import Lowered
from .opdef import INDICES, Op

# Indices of more bytes that a program has computed are checked by the program that reads them, so that nothing waits for them.
MAX_BYTES = 1 << 20
# Calls that are remembered for one tensor of indices at most.
MAX_PASSED = 8


class Checking(Protocol):
    """The part of a dispatcher's interface that is used here: of an op with tensors of indices and a check of them."""

    op: Op
    index_places: list[int]  # of its parameters

    @property
    def unchecked(self) -> Operation:
        """The same op without the check."""
        ...


def pass_here(dispatcher: Checking, static: tuple[object, ...], args: tuple[object, ...], values: list[Value]) -> bool:
    """Whether the check of a call has been made before it is recorded, so that what is recorded need not make it.

    It is made where the indices are computed and lie in the host's memory. An op with tensors of indices checks these, and reads only the
    shapes of its other tensors. So with a value of indices goes what has been checked of it: the op, its static arguments, the avals
    of all its tensors and its other indices. That holds as long as the value lives, since values are immutable; the one function
    that lets a value's memory be written to, ``on_host._make_owned``, forgets it.

    Raises:
        Exception: the op's error for a wrong index.
    """
    indices: list[Value] = []
    for place in dispatcher.index_places:
        arg = args[place]
        if isinstance(arg, Tensor):
            indices.append(arg._value())
        elif isinstance(arg, (list, tuple)):
            indices += [one._value() for one in arg if isinstance(one, Tensor)]
    if not indices:
        return False
    first: Value = indices[0]
    call = (dispatcher, static, *[value.aval for value in values], *indices[1:])
    passed: set[object] | None = getattr(first, "passed", None)
    if passed and call in passed:
        return True
    if not all(map(_lies_here, indices)):
        return False
    _check(dispatcher, static, args, values)
    if not passed or len(passed) == MAX_PASSED:
        passed = first.passed = set()
    passed.add(call)
    return True


def _lies_here(value: Value) -> bool:
    """Whether the elements are computed, and can be read here without a copy: large ones that a program has computed are left to it."""
    array, aval = value.array, value.aval
    if array.__class__ is np.ndarray:
        return True
    return not value.traced and aval.placement is CPU and aval.nbytes <= MAX_BYTES and isinstance(array, jax.Array)


def _elements(value: Value) -> np.ndarray:
    """The elements of indices. Those that never left the host are read without waiting for any program."""
    array = value.array
    return array if array.__class__ is np.ndarray else value.numpy()


def _check(dispatcher: Checking, static: tuple[object, ...], args: tuple[object, ...], values: list[Value]) -> None:
    """Runs the check of an op over the elements of its indices."""
    op, check = dispatcher.op, dispatcher.op.check
    assert check is not None
    arguments: list[Any] = []
    for arg, role in zip(args, op.roles, strict=True):
        if role == INDICES and isinstance(arg, Tensor):
            arguments.append(_elements(arg._value()))
        elif role == INDICES and isinstance(arg, (list, tuple)):
            arguments.append([_elements(one._value()) if isinstance(one, Tensor) else one for one in arg])
        else:
            arguments.append(arg)
    avals = tuple([value.aval.plain() for value in values])
    # The kernel comes first: making it may raise for other errors of the call.
    kernel = dispatcher.unchecked.kernel(static, args, avals)
    assert isinstance(kernel, Lowered)
    by_position, by_name = op.parameters.split(arguments)
    bad, value = check.find(*by_position, **by_name)
    if bad:
        raise check.make_error(int(value), *kernel.args, avals=avals)
