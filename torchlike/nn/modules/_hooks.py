"""Hooks of modules: their handles, those that concern every module, and how gradients are led past backward hooks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..._core.node import RemovableHandle
from ..._core.tensor import Tensor
from ...autograd.function import Function
from ...ops.creation.filled import zeros_like

Hook = Callable[..., Any]


class HookHandle(RemovableHandle):
    """Undoes one registration, also in the tables that say how the hook is to be called."""

    def __init__(
        self, hooks: Any, hook: Hook, *, prepend: bool = False, marks: tuple[dict[int, bool], ...] = ()
    ) -> None:
        super().__init__(hooks, hook)
        self._marks = marks
        for mark in marks:
            mark[self.id] = True
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        super().remove()
        for mark in self._marks:
            mark.pop(self.id, None)


class GlobalHooks:
    """Hooks that every module runs."""

    def __init__(self) -> None:
        self.forward: OrderedDict[int, Hook] = OrderedDict()
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always: dict[int, bool] = {}
        self.forward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.backward: OrderedDict[int, Hook] = OrderedDict()
        self.backward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.full_backward: bool | None = None
        self.parameter_registration: OrderedDict[int, Hook] = OrderedDict()
        self.buffer_registration: OrderedDict[int, Hook] = OrderedDict()
        self.module_registration: OrderedDict[int, Hook] = OrderedDict()


everywhere = GlobalHooks()


class BackwardHookFunction(Function):
    """The identity, in the graph so that there is a node where a module begins or ends."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: object) -> Any:
        return grads


class BackwardHooks:
    """The backward hooks of one call of a module: gathers gradients of its outputs and inputs, and runs them."""

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module = module
        self.hooks, self.pre_hooks = hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.output_count = self.input_count = 0
        self.output_places: list[int] = []
        self.input_places: list[int] = []
        self.has_input_node = False

    def enter(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """The arguments, led through a node whose gradients are those of the module's inputs."""
        args, places, count, node = self._through(args)
        self.input_places, self.input_count = places, count
        self.has_input_node = node is not None
        if node is not None:
            node.register_hook(self._inputs_are_done)
        return args

    def leave(self, result: object) -> Any:
        """The result, led through a node whose incoming gradients are those of the module's outputs."""
        alone = not isinstance(result, tuple)
        outs, places, count, node = self._through((result,) if alone else result)
        self.output_places, self.output_count = places, count
        if node is not None:
            node.register_prehook(self._outputs_are_there)
        return outs[0] if alone else outs

    @staticmethod
    def _through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], int, Any]:
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        tensors = [values[i] for i in places]
        if not any(t.requires_grad for t in tensors):
            return values, places, len(values), None
        passed = BackwardHookFunction.apply(*tensors)
        node = next((t.grad_fn for t in passed if t.grad_fn is not None), None)
        if node is None:
            return values, places, len(values), None
        full = list(values)
        for i, tensor in zip(places, passed, strict=True):
            full[i] = tensor
        kept = type(values)(*full) if hasattr(values, "_fields") else tuple(full)
        return kept, places, len(values), node

    @staticmethod
    def _spread(grads: tuple[Any, ...], places: list[int], count: int) -> tuple[Any, ...]:
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
        mine = self.grad_outputs
        passed = [
            zeros_like(before) if mine[i] is None and before is not None else mine[i]
            for i, before in zip(self.output_places, grads, strict=True)
        ]
        if not self.has_input_node:  # no node will tell when the inputs' gradients are there
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
                if hook(self.module, self._spread((), [], self.input_count), mine) is not None:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all "
                        "gradients."
                    )
            self.grad_outputs = None
        return tuple(passed)

    def _inputs_are_done(self, grads: tuple[object, ...], _: Any) -> Any:
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens because the gradient in "
                "your nn.Module flows to the Module's input without passing through the Module's output. Make sure that the "
                "output depends on the input and that the loss is computed based on the output."
            )
        given = self._spread(grads, self.input_places, self.input_count)
        for hook in self.hooks:
            changed = hook(self.module, given, self.grad_outputs)
            if changed is None:
                continue
            changed = _gradients(changed)
            if len(changed) != len(given):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected {len(given)}"
                )
            given = changed
        self.grad_outputs = None
        return tuple(given[i] for i in self.input_places)


def _gradients(returned: object) -> tuple[Any, ...]:
    """What a hook has returned, as the gradients that take the place of those it was given."""
    if isinstance(returned, Tensor):
        return (returned,)
    if not isinstance(returned, (tuple, list)):
        raise TypeError(f"object of type '{type(returned).__name__}' has no len()")
    for grad in returned:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(grad).__name__}'")
    return tuple(returned)


def warn_about_plain_hook(inputs: Any, result: object, node: Any) -> None:
    """Says where the deprecated kind of backward hook does not see what its name promises."""
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
