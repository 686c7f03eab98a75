"""Jacobians, Hessians and products with them, of a function at a point: ``torch.autograd.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .._core.modes import SWITCHING, refuse_in_transform
from .._core.tensor import Tensor
from .._core.vmapped import Vmapped, within
from .crossings import enter, leave
from .engine import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]

# The end of the messages of strict=True, after a subject: the output, the Jacobian...
_FORBIDDEN = "This is not allowed in strict mode."
_LINEAR = (
    f"{_FORBIDDEN} You should ensure that your function is twice differentiable and that the jacobian depends on the inputs (this "
    "would be violated by a linear function for example)."
)
_INDEPENDENT = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


def _tuple(value: object, what: str, function: str) -> tuple[bool, Tensors]:
    """Whether the value is a tuple, and the value as a tuple; TypeError if it is no tensor and no tuple of them."""
    is_tuple = isinstance(value, tuple)
    tensors = value if is_tuple else (value,)
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            at = f"value at index {number} of the given {what}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {at} has type {type(tensor)}."
            )
    return is_tuple, tensors


def _bare(result: Sequence[Tensor] | tuple[tuple[Tensor, ...], ...], is_tuple: bool) -> Any:
    return result if is_tuple else result[0]


class _Call:
    """A function called at a point, so that gradients at this point can be asked for.

    Args:
        create_graph: whether the results can be differentiated again, also with respect to the point.
        within: whether a function here calls it, in duals of its own.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., object],
        inputs: Tensor | tuple[Tensor, ...],
        create_graph: bool,
        strict: bool,
        within: bool = False,
    ) -> None:
        if not within:
            refuse_in_transform(SWITCHING, "requires_grad_()")
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.is_tuple, tensors = _tuple(inputs, "inputs", name)
        self.inputs = tuple(
            x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in tensors
        )
        self.gives_tuple, self.outputs = _tuple(func(*self.inputs), "outputs of the user-provided function", name)
        if strict:
            for number, out in enumerate(self.outputs):
                if not out.requires_grad:
                    raise RuntimeError(
                        f"Output {number} of the user-provided function does not require gradients. The outputs must be computed in a "
                        "differentiable manner from the input when running in strict mode."
                    )

    def single(self) -> Tensor:
        """The one output, which must be a single number."""
        if self.gives_tuple:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return self.outputs[0].squeeze()

    def to_return(self, result: Tensors) -> Tensors:
        """The tensors to return: detached, unless ``create_graph`` was asked for."""
        return result if self.create_graph else tuple(r.detach() for r in result)

    def filled(self, gradients: Tensors, like: Tensors, subject: str, forbidden: str = _FORBIDDEN) -> Tensors:
        """The gradients with zeros in place of each None, which is an error if ``strict``."""
        for number, gradient in enumerate(gradients):
            if gradient is None and self.strict:
                raise RuntimeError(f"{subject} independent of input {number}. {forbidden}")
        return tuple(ops.zeros_like(x) if g is None else g for g, x in zip(gradients, like, strict=True))

    def check_dependent(self, gradients: Tensors) -> None:
        """Raises where a gradient that is to have a graph depends on nothing, if ``strict``."""
        for number, gradient in enumerate(gradients):
            if self.strict and self.create_graph and gradient is not None and not gradient.requires_grad:
                raise RuntimeError(_INDEPENDENT.format(number))


def _pull(outputs: Tensors, inputs: Tensors, along: Tensors, create_graph: bool) -> Tensors:
    """As ``autograd.grad``, but the outputs need not require a gradient; None where an output does not depend on an input."""
    pairs = [(out, v) for out, v in zip(outputs, along, strict=True) if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _check_v(v: object, call: _Call, like: Tensors, is_tuple: bool, missing: str) -> Tensors:
    """The vector, one tensor for each of ``like``; None means 1 where that is a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {missing} a single Tensor with a single element.")
        return (ops.ones_like(like[0]),)
    _, vectors = _tuple(v, "v", call.name)
    if len(vectors) != len(like):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for number, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            entry = f"Entry {number} in " if is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return tuple(x.view_as(x) if call.create_graph else x.detach() for x in vectors)


def vjp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """``func(*inputs)``, and the product of ``v`` with the Jacobian: one backward pass.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: as the outputs; may be left out where that is a single number.
        create_graph: whether the results are differentiable.
        strict: raise where an output does not depend on an input, rather than give zeros.

    >>> torch.autograd.functional.vjp(lambda x: (x * x).sum(), torch.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        v = _check_v(v, call, call.outputs, call.gives_tuple, "the user-provided function returns")
        gradients = _pull(call.outputs, call.inputs, v, create_graph)
        gradients = call.filled(gradients, call.inputs, "The output of the user-provided function is")
        call.check_dependent(gradients)
        return _bare(call.to_return(call.outputs), call.gives_tuple), _bare(call.to_return(gradients), call.is_tuple)


def jvp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """``func(*inputs)``, and the product of the Jacobian with ``v``, by two backward passes; arguments as of ``vjp``.

    Args:
        v: as the inputs; may be left out where that is a single number.

    >>> torch.autograd.functional.jvp(torch.sin, torch.zeros(2), torch.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        v = _check_v(v, call, call.inputs, call.is_tuple, "the input to the user-provided function is")
        # The backward pass is linear in its cotangent, so the derivative with respect to the cotangent is the forward mode.
        along = tuple(ops.zeros_like(out).requires_grad_() for out in call.outputs)
        back = _pull(call.outputs, call.inputs, along, True)
        back = call.filled(back, call.inputs, "The output of the user-provided function is")
        tangents = _pull(back, along, v, create_graph)
        call.check_dependent(tangents)
        tangents = tuple(ops.zeros_like(o) if g is None else g for g, o in zip(tangents, call.outputs, strict=True))
        return _bare(call.to_return(call.outputs), call.gives_tuple), _bare(call.to_return(tangents), call.gives_tuple)


def jacobian(
    func: Callable[..., object],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivative of each element of the output with respect to each of the input, by a backward pass for each of the former.

    Args:
        vectorize: chooses PyTorch's implementation and has no effect here. ``torch.func.jacrev`` and ``jacfwd`` are faster.
        strategy: "forward-mode" asks the derivatives forwards, of all elements of the input at once; needs ``vectorize``.

    Shapes: that of the output followed by that of the input; in a tuple of tuples where outputs and inputs are tuples.

    >>> torch.autograd.functional.jacobian(torch.sin, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])

    Raises:
        RuntimeError: ``strict`` with ``vectorize``, or ``strict`` and an output does not depend on an input.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
    """
    _check_strategy("jacobian", strict, vectorize, strategy)
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
                'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs)
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        rows = tuple(
            _bare(call.to_return(_derivative(call, number, out)), call.is_tuple)
            for number, out in enumerate(call.outputs)
        )
        return _bare(rows, call.gives_tuple)


def _forward_jacobian(func: Callable[..., object], inputs: Any) -> Any:
    """The Jacobian by tangents: the function runs once, with all of them."""
    is_tuple, tensors = _tuple(inputs, "inputs", "jacobian")
    sizes = [tensor.numel() for tensor in tensors]
    level, start, duals = Vmapped(sum(sizes), "error"), 0, []
    level.shared = True  # the function's own values are the same for all tangents
    with within(level), dual_level():
        for tensor, size in zip(tensors, sizes, strict=True):
            rows = ops.zeros((level.size, size), dtype=tensor.dtype, device=tensor.device)
            rows[start : start + size].fill_diagonal_(1)
            duals.append(make_dual(tensor, enter(rows.reshape((level.size, *tensor.shape)), level)))  # pyright: ignore[reportAttributeAccessIssue]
            start += size
        gives_tuple, outputs = _tuple(func(*duals), "outputs", "jacobian")
        pairs = [unpack_dual(output) for output in outputs]
        columns = [leave(ops.zeros_like(p.detach()) if t is None else t, level) for p, t in pairs]  # pyright: ignore[reportAttributeAccessIssue]
    blocks = tuple(
        _bare(
            tuple(
                part.movedim(0, -1).reshape((*output.shape, *tensor.shape))  # pyright: ignore[reportAttributeAccessIssue]
                for part, tensor in zip(column.split(sizes), tensors, strict=True)  # pyright: ignore[reportAttributeAccessIssue]
            ),
            is_tuple,
        )
        for column, output in zip(columns, outputs, strict=True)
    )
    return _bare(blocks, gives_tuple)


def _derivative(call: _Call, number: int, out: Tensor) -> Tensors:
    """The Jacobian of one output: a tensor for each input."""
    rows: list[Tensors] = []
    for element in out.reshape(-1).unbind():
        gradients = _pull((element,), call.inputs, (ops.ones_like(element),), call.create_graph)
        subject = f"Output {number} of the user-provided function is"
        gradients = call.filled(gradients, call.inputs, subject)
        if call.strict and call.create_graph:
            if not all(g.requires_grad for g in gradients):
                raise RuntimeError(_INDEPENDENT.format(number))  # PyTorch names the output here, not the input
        rows.append(gradients)
    if not rows:
        return tuple(ops.zeros_like(x).expand((0, *x.shape)).reshape(out.shape + x.shape) for x in call.inputs)
    return tuple(ops.stack(column).reshape(out.shape + column[0].shape) for column in zip(*rows, strict=True))


def _check_strategy(name: str, strict: bool, vectorize: bool, strategy: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode" and strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please '
            'either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    if strict and vectorize:
        raise RuntimeError(
            f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )


def hessian(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function that returns a single number; arguments and shapes as of ``jacobian``.

    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
    """
    _check_strategy("hessian", strict, vectorize, outer_jacobian_strategy)
    is_tuple, _ = _tuple(inputs, "inputs", "hessian")

    forwards = outer_jacobian_strategy == "forward-mode"

    def gradient(*point: Tensor) -> Any:
        if forwards:
            point = tuple(x._require_grad() for x in point)
        call = _Call("hessian", func, point, True, strict, within=True)
        return _gradient(call, fills=True)

    blocks = jacobian(
        gradient, inputs if is_tuple else (inputs,), create_graph, strict, forwards, outer_jacobian_strategy
    )
    return blocks if is_tuple else blocks[0][0]


def _gradient(call: _Call, fills: bool = False) -> Tensors:
    """The gradient of the single output, which can be differentiated again. ``fills``: an input on which it does not depend is no error."""
    out = call.single()
    gradients = _pull((out,), call.inputs, (ops.ones_like(out),), True)
    if fills:
        gradients = tuple(ops.zeros_like(x) if g is None else g for g, x in zip(gradients, call.inputs, strict=True))
    else:
        gradients = call.filled(gradients, call.inputs, "The output of the user-provided function is")
    if call.strict:
        for number, g in enumerate(gradients):
            if not g.requires_grad:
                raise RuntimeError(
                    f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {number} "
                    f"is independent of the input. {_LINEAR}"
                )
    return gradients


def _hessian_product(
    name: str,
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: object,
    create_graph: bool,
    strict: bool,
) -> Any:
    with enable_grad():
        call = _Call(name, func, inputs, create_graph, strict)
        v = _check_v(v, call, call.inputs, call.is_tuple, "the input to the user-provided function is")
        products = _pull(_gradient(call), call.inputs, v, create_graph)
        products = call.filled(products, call.inputs, "The hessian of the user-provided function is", _LINEAR)
        return _bare(call.to_return(call.outputs), call.gives_tuple), _bare(call.to_return(products), call.is_tuple)


def vhp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """``func(*inputs)``, a single number, and the product of ``v`` with its Hessian; arguments as of ``jvp``.

    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., object],
    inputs: Tensor | tuple[Tensor, ...],
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """As ``vhp``, with the Hessian on the left: the same numbers, the Hessian being symmetric.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)
