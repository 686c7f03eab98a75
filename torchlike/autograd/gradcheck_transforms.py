"""What ``gradcheck`` checks besides the backward pass: derivatives forwards, and derivatives of many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

import numpy as np

from .. import ops
from .._core.sparse import is_sparse
from .._core.tensor import Tensor, from_host
from .._core.vmapped import Vmapped, within
from .crossings import enter, leave
from .engine import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .function import Function

__all__ = [
    "batched_backward",
    "batched_forward",
    "has_tangent",
    "of_zeros",
    "pushed",
    "without_gradient",
    "without_tangent",
]


class _NoGradient(Function):
    """Passes a tensor on, and no gradient back."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: object, *gradients: object) -> None:
        return None


def of_zeros(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> str:
    """Looks whether gradients are zero where those of the outputs are. Returns what is wrong; empty where nothing is."""
    seeds = _zeros(outputs)
    for gradient, input in zip(grad(outputs, inputs, seeds, allow_unused=True, retain_graph=True), inputs, strict=True):
        if gradient is None:
            continue
        dense = gradient
        if is_sparse(dense):
            if dense.layout is not input.layout:
                return f"grad is incorrect layout ({dense.layout} is not {input.layout})"
            dense = dense.to_dense()
        if not bool(dense.eq(0).all()):
            return "backward not multiplied by grad_output"
    return ""


def _zeros(outputs: Sequence[Tensor]) -> list[Tensor]:
    return [ops.zeros_like(output) for output in outputs]  # pyright: ignore[reportReturnType]


_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def without_gradient(run: Callable[[], list[Tensor]], inputs: Sequence[Tensor]) -> str:
    """Looks whether outputs without a gradient give none, or zeros: all of them, and one at a time. Returns what is wrong."""
    count = len(run())
    for chosen in [range(count), *([i] for i in range(count if count > 1 else 0))]:
        outputs = [_NoGradient.apply(output) if i in chosen else output for i, output in enumerate(run())]
        seeds = _zeros(outputs)
        try:
            gradients = grad(outputs, inputs, seeds, allow_unused=True)
        except RuntimeError:
            return f"Expected backward function to handle undefined output grads. {_NOTES}"
        for gradient in gradients:
            dense = gradient.to_dense() if gradient is not None and is_sparse(gradient) else gradient
            if dense is not None and not bool(dense.eq(0).all()):
                words = "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                return f"{words} {_NOTES}"
    return ""


def _with_tangent(arguments: Sequence[Tensor], differentiable: Sequence[int], i: int, tangent: Tensor) -> list[Tensor]:
    """The arguments, with tangents: of all but one they are zero."""
    duals = list(arguments)
    for place in differentiable:
        primal = arguments[place].detach()
        duals[place] = make_dual(primal, tangent.detach() if place == i else ops.zeros_like(primal))
    return duals


def pushed(
    func: Callable[..., object], arguments: Sequence[Tensor], differentiable: Sequence[int], i: int, tangent: Tensor
) -> list[Tensor]:
    """The tangents of the outputs that are floating point or complex, for a tangent of input ``i``; zeros where there is none."""
    with dual_level():
        result = func(*_with_tangent(arguments, differentiable, i, tangent))
        pairs = [
            unpack_dual(out) for out in (result if isinstance(result, (tuple, list)) else (result,)) if has_tangent(out)
        ]
        return [(ops.zeros_like(primal) if change is None else change).detach() for primal, change in pairs]  # pyright: ignore[reportAttributeAccessIssue]


def without_tangent(func: Callable[..., object], arguments: Sequence[Tensor], differentiable: Sequence[int]) -> str:
    """Compares a tangent of zeros with none, for each input in turn. Returns what is wrong; empty where nothing is."""
    with dual_level():
        duals = list(arguments)
        for i in differentiable:
            primal = arguments[i].detach()
            duals[i] = make_dual(primal, ops.rand_like(primal))
        for i in differentiable:
            primal, results = arguments[i].detach(), []
            for argument in (make_dual(primal, ops.zeros_like(primal)), primal):
                result = func(*duals[:i], argument, *duals[i + 1 :])
                outputs = result if isinstance(result, (tuple, list)) else (result,)
                results.append([unpack_dual(out).tangent for out in outputs if has_tangent(out)])
            for number, (zero, none) in enumerate(zip(*results, strict=True)):
                if zero is not None and none is not None and not ops.allclose(zero, none):
                    return (
                        f"Mismatch in tangent values for output with index: {number} when input: {arguments[i]} has an undefined tangent "
                        f"value.  Got: {zero} but expected: {none}"
                    )
    return ""


def has_tangent(output: object) -> TypeGuard[Tensor]:
    """Whether an output is of a kind that has tangents: floating point or complex."""
    return isinstance(output, Tensor) and (output.is_floating_point() or output.is_complex())


def batched_forward(func: Callable[..., object], arguments: Sequence[Tensor], differentiable: Sequence[int]) -> str:
    """Compares tangents computed one by one with those of many at once. Returns what is wrong; empty where nothing is."""
    for i in differentiable:
        rows = ops.stack([ops.randn_like(arguments[i]), ops.randn_like(arguments[i])]).detach()  # pyright: ignore[reportAttributeAccessIssue]

        def along(row: Tensor, i: int = i) -> list[Tensor]:
            return pushed(func, arguments, differentiable, i, row)

        wrong = _compared(along, rows, f"input {i}", "forward mode")
        if wrong:
            return wrong
    return ""


def batched_backward(inputs: Sequence[Tensor], output: Tensor, number: int) -> str:
    """The same for the gradients of an output with many cotangents."""
    rows = ops.stack([ops.randn_like(output), ops.randn_like(output)]).detach()  # pyright: ignore[reportAttributeAccessIssue]

    def along(row: Tensor) -> list[Tensor]:
        gradients = grad(output, inputs, row, retain_graph=True, allow_unused=True)
        return [
            ops.zeros_like(input) if gradient is None else gradient
            for gradient, input in zip(gradients, inputs, strict=True)
        ]

    try:
        return _compared(along, rows, f"output {number}", "reverse mode")
    except RuntimeError as error:
        return (
            f"While computing batched gradients, got: {error}\n\ngradcheck or gradgradcheck failed while testing batched gradient "
            "computation: one pass for many rows, as torch.func.vmap makes it. Pass check_batched_grad=False to leave it out."
        )


def _compared(along: Callable[[Tensor], list[Tensor]], rows: Tensor, what: str, mode: str) -> str:
    one_by_one = [along(row) for row in rows]
    level = Vmapped(len(rows), "error")
    level.shared = True  # the function's own values are the same for all rows
    with within(level):
        results = along(enter(rows, level))
    for number, result in enumerate(results):
        batched = leave(result, level).numpy(force=True)
        expected = np.stack([row[number].numpy(force=True) for row in one_by_one])
        if not np.allclose(batched, expected, equal_nan=True):
            return (
                f"For {what} ({mode}), batched gradients differ from gradients computed one by one, for result {number}.\n"
                f"batched:{from_host(batched)}\none by one:{from_host(expected)}\n"
            )
    return ""
