"""Hooks of modules: the nodes at which backward hooks get gradients."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ...autograd.function import Function
from ...dispatch.warned import warn
from ...ops.creation.filled import zeros, zeros_like
from ...utils.hooks import (
    GlobalHooks as GlobalHooks,
    Hook as Hook,
    HookHandle as HookHandle,
    everywhere as everywhere,
)

if TYPE_CHECKING:
    from ..._core.node import Node
    from ...autograd.function import FunctionNode


class BackwardHookFunction(Function):
    """The identity. It adds a node to the graph where a module begins or ends."""

    @staticmethod
    def forward(ctx: FunctionNode, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: object, *grads: object) -> tuple[object, ...]:
        return grads


class BackwardHooks:
    """The backward hooks of one call of a module. It collects the gradients of outputs and inputs, and then runs the hooks."""

    def __init__(self, module: object, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module = module
        self.hooks, self.pre_hooks = hooks, pre_hooks
        self.grad_outputs: tuple[Tensor | None, ...] | None = None
        self.output_count = self.input_count = 0
        self.output_places: list[int] = []
        self.input_places: list[int] = []
        self.has_input_node = False
        self.inputs_like: list[tuple[Any, Any, Any]] = []  # shape, dtype and device of each tensor among the arguments

    def enter(self, args: tuple[object, ...]) -> tuple[object, ...]:
        """Passes the arguments through a node whose gradients are those of the module's inputs."""
        self.inputs_like = [(a.shape, a.dtype, a.device) for a in args if isinstance(a, Tensor)]
        args, places, count, node = self._through(args)
        self.input_places, self.input_count = places, count
        self.has_input_node = node is not None
        if node is not None:
            node.register_hook(self._inputs_are_done)
        return args

    def leave(self, result: object) -> Any:
        """Passes the result through a node whose incoming gradients are those of the module's outputs."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        alone = not isinstance(result, tuple)
        outs, places, count, node = self._through((result,) if alone else result)
        self.output_places, self.output_count = places, count
        if node is not None:
            node.register_prehook(self._outputs_are_there)
        return outs[0] if alone else outs

    @staticmethod
    def _through(values: tuple[Any, ...]) -> tuple[tuple[object, ...], list[int], int, Node | None]:
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        tensors = [values[i] for i in places]
        if not any(t.requires_grad for t in tensors):
            return values, places, len(values), None
        # One node for all tensors, so that a hook gets all gradients at once.
        marked = BackwardHookFunction.apply(*tensors)
        node = next((t.grad_fn for t in marked if t.grad_fn is not None), None)
        if node is None:
            return values, places, len(values), None
        full = list(values)
        for i, tensor in zip(places, marked, strict=True):
            full[i] = tensor
        marked_values = type(values)(*full) if hasattr(values, "_fields") else tuple(full)
        return marked_values, places, len(values), node

    @staticmethod
    def _spread(grads: tuple[Any, ...], places: list[int], count: int) -> tuple[Tensor | None, ...]:
        full = [None] * count
        for i, grad in zip(places, grads, strict=True):
            full[i] = grad
        return tuple(full)

    def _outputs_are_there(self, grads: tuple[object, ...]) -> Any:
        self.grad_outputs = self._spread(grads, self.output_places, self.output_count)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is None:
                continue
            changed = _gradients(changed)
            if len(changed) != len(self.grad_outputs):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(changed)}, but expected {len(self.grad_outputs)}"
                )
            self.grad_outputs = changed
        output_grads = self.grad_outputs
        grads_to_pass = [
            # A hook may return None for a gradient. The nodes below get zeros for it.
            zeros_like(before) if output_grads[i] is None and before is not None else output_grads[i]
            for i, before in zip(self.output_places, grads, strict=True)
        ]
        if not self.has_input_node:  # no input requires a gradient, so no node runs after this one
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                    "require gradients. See "
                    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
                    "for more details.",
                    UserWarning,
                    stacklevel=5,
                )
            for hook in self.hooks:
                changed = hook(self.module, self._spread((), [], self.input_count), output_grads)
                if changed is not None and not (
                    isinstance(changed, tuple) and all(gradient is None for gradient in changed)
                ):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all "
                        "gradients."
                    )
            self.grad_outputs = None
        return tuple(grads_to_pass)

    def _inputs_are_done(self, grads: tuple[object, ...], _: object) -> Any:
        if self.grad_outputs is None:  # a gradient that did not pass the outputs, as in a second derivative
            return None
        # A hook gets zeros for the inputs that require no gradient, once another one does.
        filled = [
            zeros(shape, dtype=dtype, device=device) if grad is None else grad
            for grad, (shape, dtype, device) in zip(grads, self.inputs_like, strict=True)
        ]
        input_grads = self._spread(tuple(filled), self.input_places, self.input_count)
        for hook in self.hooks:
            replacements = hook(self.module, input_grads, self.grad_outputs)
            if replacements is None:
                continue
            replacements = _gradients(replacements)
            if len(replacements) != len(input_grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(replacements)}, but expected {len(input_grads)}"
                )
            input_grads = replacements
        self.grad_outputs = None
        return tuple(None if grad is None else input_grads[i] for i, grad in zip(self.input_places, grads, strict=True))


def _gradients(returned: object) -> tuple[Tensor | None, ...]:
    """The gradients that a hook returned instead of its arguments, checked to have the same number."""
    if isinstance(returned, Tensor):
        return (returned,)
    if not isinstance(returned, (tuple, list)):
        raise TypeError(f"object of type '{type(returned).__name__}' has no len()")
    for grad in returned:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(grad).__name__}'")
    return tuple(returned)


def warn_about_plain_hook(inputs: object, result: object, node: Node) -> None:
    """Warns if a deprecated backward hook gets other gradients than those of the module's inputs and outputs."""
    if not isinstance(result, Tensor) and not (
        isinstance(result, tuple) and all(isinstance(r, Tensor) for r in result)
    ):
        warnings.warn(
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is deprecated "
            "and will be removed in future versions. This hook will be missing some of the grad_output. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=2,
        )
        return
    if not isinstance(inputs, tuple) or not all(isinstance(i, Tensor) for i in inputs):
        warnings.warn(
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_input. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=2,
        )
        return
    first = result[0] if isinstance(result, tuple) else result
    if isinstance(result, tuple) and any(r.grad_fn is not first.grad_fn for r in result):
        warnings.warn(
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated and will be "
            "removed in future versions. This hook will be missing some grad_output. Please use register_full_backward_hook to "
            "get the documented behavior.",
            FutureWarning,
            stacklevel=2,
        )
        return
    if {n for n, _ in node.next_functions} != {i.grad_fn for i in inputs if i.grad_fn is not None}:
        warnings.warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be removed "
            "in future versions. This hook will be missing some grad_input. Please use register_full_backward_hook to get the "
            "documented behavior.",
            FutureWarning,
            stacklevel=2,
        )
