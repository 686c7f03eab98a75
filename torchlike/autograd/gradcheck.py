"""gradcheck and gradgradcheck compare derivatives with finite differences. The project's own tests use them too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.sparse import is_sparse
from .._core.tensor import Tensor, from_host, from_value
from ..dispatch.options import placement_of
from ..engine import op_by_op
from ..engine.value import Value
from .engine import grad
from .gradcheck_inputs import ChangedInput, check_inputs, check_outputs, densified, read
from .gradcheck_transforms import (
    batched_backward,
    batched_forward,
    has_tangent,
    of_zeros,
    pushed,
    without_gradient,
    without_tangent,
)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The derivative that ``backward`` computes and the one measured by finite differences differ."""


def _tuple(x: object) -> tuple[object, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable_outputs(result: object) -> list[Tensor]:
    return [o for o in _tuple(result) if isinstance(o, Tensor) and o.requires_grad]


# One op at a time. A program of many ops does not round as the single ops do, and which of the two runs depends on what ran before.
# So two runs of a function could differ in their last bits, which the division by ``eps`` makes large.
@op_by_op()
def gradcheck(
    func: Callable[..., object],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the derivative of ``func`` with central differences, element by element.

    Args:
        func: takes ``inputs``, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple; those that require a gradient should be float64 or complex128.
        eps: step of the differences. atol, rtol: how far the two may be apart.
        raise_exception: raise ``GradcheckError`` rather than return False.
        nondet_tol: how far two runs of the backward may differ.
        check_backward_ad, check_forward_ad: check the backward pass; the tangents of ``torch.autograd.forward_ad``.
        check_undefined_grad: check also that outputs without a gradient give none to the inputs, or zeros; and with ``check_forward_ad``
            that tangents of zeros give what none give.
        check_batched_grad, check_batched_forward_grad: check also that a pass for many rows at once gives what one pass for each does.
        fast_mode: compare along random directions only, which takes two runs of ``func`` rather than two for each element.
        masked: of sparse inputs, compare only the elements that are stored. Else all are stored before.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, (x,))
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    for name, on, needed, there in (
        ("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad),
        ("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad),
    ):
        if on and not there:
            raise AssertionError(f"Setting {name}=True requires {needed} to be True")
    arguments: tuple[Any, ...] = _tuple(inputs)
    differentiable = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    check_inputs(arguments)
    outputs = _differentiable_outputs(func(*arguments))
    check_outputs(outputs)
    try:
        places = [(number, output, i) for number, output in enumerate(outputs) for i in differentiable]
        if not outputs:
            _check_constant(func, arguments, differentiable, eps, masked)
        if check_backward_ad:
            check = _check_direction if fast_mode else _check_jacobian
            for number, output, i in places:
                check(func, arguments, i, output, number, eps, atol, rtol, nondet_tol, masked)
        if check_forward_ad:
            for i in differentiable:
                _check_forward(func, arguments, differentiable, i, eps, atol, rtol, fast_mode)
            if check_undefined_grad:
                _report(without_tangent(func, arguments, differentiable))
        if check_batched_forward_grad:
            _report(batched_forward(func, arguments, differentiable))
        tensors: list[Any] = [arguments[i] for i in differentiable]
        if check_batched_grad:
            for number, output in enumerate(outputs):
                _report(batched_backward(tensors, output, number))
        if check_backward_ad and outputs:
            _report(of_zeros(outputs, tensors))
            if check_undefined_grad:
                _report(without_gradient(lambda: _differentiable_outputs(func(*arguments)), tensors))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_constant(
    func: Callable[..., object],
    arguments: Sequence[Any],
    differentiable: Sequence[int],
    eps: float,
    masked: bool | None,
) -> None:
    if any(axis.any() for i in differentiable for axis in _slopes(func, arguments, i, None, eps, masked)[0]):
        raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_jacobian(
    func: Callable[..., object],
    arguments: Any,
    i: int,
    output: Tensor,
    number: int,
    eps: float,
    atol: float,
    rtol: float,
    nondet: float,
    masked: bool | None,
) -> None:
    slopes, places = _slopes(func, arguments, i, number, eps, masked)
    for component, prefix in _parts(output):
        numeric = _along_axes([np.imag(s) if component.imag else np.real(s) for s in slopes])
        analytic, again = (_at(places, _analytic(arguments[i], output, component)) for _ in range(2))
        if not np.allclose(analytic, again, rtol=0.0, atol=nondet, equal_nan=True):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient."
            )
        if not np.allclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True):
            raise GradcheckError(
                f"{prefix}Jacobian mismatch for output {number} with respect to input {i},\n"
                f"numerical:{from_host(numeric)}\nanalytical:{from_host(analytic)}\n"
            )


def _check_forward(
    func: Callable[..., object],
    arguments: Any,
    differentiable: list[int],
    i: int,
    eps: float,
    atol: float,
    rtol: float,
    fast: bool,
) -> None:
    """Compares the tangents for each element of input ``i``, or for one random direction, with differences."""
    changed = ChangedInput(arguments[i])
    x = changed.array
    axes = [(1.0, "")]
    if x.dtype.kind == "c":
        axes = [(axis, f"While considering the {part} part of complex inputs only, ") for part, axis in _AXES.items()]
    wanted = [isinstance(o, Tensor) and o.requires_grad for o in _tuple(func(*arguments)) if has_tangent(o)]
    for axis, prefix in axes:
        if fast:
            directions = [axis * _noise(np.random.default_rng(0), x.shape, np.dtype(np.float64)).astype(x.dtype)]
        else:
            directions = [axis * row.reshape(x.shape) for row in np.eye(x.size, dtype=x.dtype)]
        rows = [
            pushed(func, arguments, differentiable, i, _beside(arguments[i], np.asarray(d, x.dtype)))
            for d in directions
        ]
        kept = [[t for t, counts in zip(row, wanted, strict=True) if counts] for row in rows]
        for number in range(sum(wanted)):
            ends = [changed.ends(func, arguments, number, eps * d, eps) for d in directions]
            numeric = np.array([(after - before) / (2 * eps) for after, before in ends])
            analytic = np.array([read(row[number]).reshape(-1) for row in kept])
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"{prefix}Jacobian computed with forward mode mismatch for output {number} with respect to input {i},\n"
                    f"numerical:{from_host(numeric)}\nanalytical:{from_host(analytic)}\n"
                )


_AXES: dict[str, Any] = {"imaginary": 1j, "real": 1.0}


def _report(wrong: str) -> None:
    if wrong:
        raise GradcheckError(wrong)


def _parts(output: Tensor) -> list[tuple[complex, str]]:
    """The cotangents to try for each element of an output, each with the beginning of the error message for a mismatch."""
    if not output.is_complex():
        return [(1, "")]
    return [
        (1j, "While considering the imaginary part of complex outputs only, "),
        (1, "While considering the real part of complex outputs only, "),
    ]


def _slopes(
    func: Callable[..., object], arguments: Sequence[Any], i: int, number: int | None, eps: float, masked: bool | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Central differences, (elements of the input, elements of the output): along the real and, if there is one, the imaginary axis.

    Returns:
        the differences, and which elements were changed.
    """
    arguments = _as_changed(arguments, masked)
    changed = ChangedInput(arguments[i])
    axes = []
    for step in (eps, eps * 1j) if changed.array.dtype.kind == "c" else (eps,):
        rows = []
        for element in range(changed.array.size):
            place = np.unravel_index(element, changed.array.shape)
            shift = np.zeros_like(changed.array)
            shift[place] = step
            on = f" on index {tuple(map(int, place))}"
            after, before = changed.ends(func, arguments, number, shift, eps, on)
            rows.append((after - before) / (2 * eps))
        matrix = np.zeros((arguments[i].numel(), *np.shape(rows)[1:]), np.asarray(rows).dtype)
        matrix[changed.places] = np.array(rows)
        axes.append(matrix)
    return axes, changed.places


def _as_changed(arguments: Sequence[Tensor], masked: bool | None) -> list[Tensor]:
    """The inputs as they are changed: sparse ones with all their elements, unless only those that are stored count."""
    return [densified(x) if isinstance(x, Tensor) and is_sparse(x) and not masked else x for x in arguments]


def _at(places: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The rows of these elements, and zeros for the others."""
    rows = np.zeros_like(matrix)
    rows[places] = matrix[places]
    return rows


def _along_axes(slopes: list[np.ndarray]) -> np.ndarray:
    """PyTorch's gradient of a real function: the slope, of a complex input ``d/dx + i d/dy``."""
    return slopes[0] if len(slopes) == 1 else slopes[0] + 1j * slopes[1]


def _analytic(tensor: Tensor, output: Tensor, part: complex) -> np.ndarray:
    """The same matrix from one backward for each element of the output."""
    columns = []
    for element in range(output.numel()):
        seed = np.zeros(output.numel(), output.dtype.numpy)
        seed[element] = part
        (g,) = grad(output, tensor, _beside(output, seed.reshape(output.shape)), retain_graph=True, allow_unused=True)
        columns.append(np.zeros(tensor.numel(), tensor.dtype.numpy) if g is None else _dense(g).reshape(-1).copy())
    return np.stack(columns, axis=1) if columns else np.zeros((tensor.numel(), 0), tensor.dtype.numpy)


_PRIVATE = (
    "`{}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed in a future "
    "version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, please file us an issue at "
    "https://github.com/pytorch/pytorch/issues/new"
)


def _warn_private(name: str, grad_out: float) -> None:
    warnings.warn(_PRIVATE.format(name), FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[[Any], object], inputs: object, target: object = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The differences of the first output of ``fn(inputs)`` for each input, or each of ``target``, that requires a gradient."""
    _warn_private("get_numerical_jacobian", grad_out)
    arguments: tuple[Any, ...] = _tuple(inputs)
    wanted = arguments if target is None else _tuple(target)
    places = [i for i, x in enumerate(arguments) if any(x is each for each in wanted) and x.requires_grad]
    found = [_slopes(lambda *_: _tuple(fn(inputs))[0], arguments, i, None, eps, True)[0] for i in places]
    return tuple(from_host(_along_axes(slopes)) for slopes in found)


def get_analytical_jacobian(
    inputs: object, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The gradients of each element of ``output``; whether two passes agree; whether the gradients' sizes and dtypes are the inputs'."""
    _warn_private("get_analytical_jacobian", grad_out)
    tracked = [x for x in _tuple(inputs) if isinstance(x, Tensor) and x.requires_grad]
    first, again = ([_analytic(x, output, 1) for x in tracked] for _ in range(2))
    same = all(np.allclose(a, b, rtol=0.0, atol=nondet_tol) for a, b in zip(first, again, strict=True))
    seed = _beside(output, np.ones(tuple(output.shape), output.dtype.numpy))
    gradients = grad(output, tracked, seed, retain_graph=True, allow_unused=True)
    pairs = [(g, x) for g, x in zip(gradients, tracked, strict=True) if g is not None]
    sizes, kinds = all(g.shape == x.shape for g, x in pairs), all(g.dtype is x.dtype for g, x in pairs)
    return tuple(map(from_host, first)), same, sizes, kinds


def _dense(tensor: Tensor) -> np.ndarray:
    return read(tensor.to_dense() if is_sparse(tensor) else tensor)


def _check_direction(
    func: Callable[..., object],
    arguments: Any,
    i: int,
    output: Tensor,
    number: int,
    eps: float,
    atol: float,
    rtol: float,
    nondet: float,
    masked: bool | None,
) -> None:
    """Along one random direction ``d`` and for one random cotangent ``v``: ``<J^T v, d>`` against ``<v, J d>`` by differences."""
    random = np.random.default_rng(0)
    others = _as_changed(arguments, masked)
    changed = ChangedInput(others[i])
    x = changed.array
    direction, cotangent = _noise(random, x.shape, x.dtype), _noise(random, tuple(output.shape), output.dtype.numpy)
    after, before = changed.ends(func, others, number, eps * direction, eps)
    numeric = float(np.sum(np.real(np.conj(cotangent.reshape(-1)) * (after - before) / (2 * eps))))
    (g,) = grad(output, arguments[i], _beside(output, cotangent), retain_graph=True, allow_unused=True)
    along = None if g is None else _dense(g).reshape(-1)[changed.places].reshape(x.shape)
    analytic = 0.0 if along is None else float(np.sum(np.real(np.conj(along) * direction)))
    if not np.isclose(analytic, numeric, rtol=rtol, atol=atol * max(1, x.size) ** 0.5, equal_nan=True):
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {i},\n"
            f"numerical:{numeric}\nanalytical:{analytic}\n\nBoth along one random direction (fast mode).\n"
        )


def _uniform_like(output: Tensor) -> Tensor:
    """Numbers from -1 to 1, of the default generator as in PyTorch, so that what is drawn afterwards is the same."""
    zeros = np.zeros(tuple(output.shape), output.dtype.numpy)
    if not output.is_complex():
        return _beside(output, from_host(zeros).uniform_(-1, 1).numpy())
    parts = from_host(zeros.reshape(-1).view(output.dtype.to_real().numpy)).uniform_(-1, 1)
    return _beside(output, parts.numpy().view(zeros.dtype).reshape(zeros.shape))


def _beside(tensor: Tensor, array: np.ndarray) -> Tensor:
    """The array as a tensor on the device where another one is."""
    outer = getattr(tensor, "_outer_device", None)
    return from_value(Value.on_host(array, tensor._aval.placement if outer is None else placement_of(outer)))


def _noise(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    noise = random.normal(size=shape)
    return np.asarray(noise + 1j * random.normal(size=shape) if dtype.kind == "c" else noise, dtype)


@op_by_op()
def gradgradcheck(
    func: Callable[..., object],
    inputs: Sequence[Tensor],
    grad_outputs: object = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares the derivative of the backward of ``func`` with central differences: see ``gradcheck``.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, on in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if on and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = _tuple(inputs)
    differentiated = [isinstance(x, Tensor) and x.requires_grad for x in arguments]
    outputs = _differentiable_outputs(func(*arguments))
    if grad_outputs is None:
        seeds = [_uniform_like(output).requires_grad_() for output in outputs]
    else:
        seeds = list(_tuple(grad_outputs))
    count = len(arguments)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        differentiable = [x.requires_grad_() for x, wanted in zip(args[:count], differentiated, strict=True) if wanted]
        results = _differentiable_outputs(func(*args[:count]))
        return tuple(
            g
            for g in grad(results, differentiable, args[count:], create_graph=True, allow_unused=True)
            if g is not None
        )

    return gradcheck(
        gradient, (*arguments, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, fast_mode=fast_mode,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip
