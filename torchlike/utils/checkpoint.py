"""Checkpointing: the backward pass computes activations a second time, to save memory."""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from .._core.fields import node_of, storage_of, version_of
from .._core.modes import modes
from .._core.node import modified
from .._core.tensor import Tensor
from ..autograd import Function, backward as run_backward
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..dispatch.autocast import autocast_as
from ..ops.settings.recomputing import recomputed
from ..ops.shape.reshape import common_shape
from ..random_streams import rng
from ._pytree import tree_map as tree_map

__all__ = [
    "CheckpointError", "CheckpointPolicy", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "noop_context_fn", "set_checkpoint_early_stop",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """The function behaved differently when it ran for the second time."""


class CheckpointPolicy(Enum):
    """A policy's decision about an operator's result: keep it, or compute it again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """The context that a policy receives besides the operator: whether this is the recomputation."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., object] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Returns two contexts for ``checkpoint``'s ``context_fn``: the results of some operators are kept, and not computed again.

    Args:
        policy_fn_or_list: operators whose results are kept; or a function that is called with a context, an operator and its arguments,
            and returns a ``CheckpointPolicy``, or True for a result that is kept.
        allow_cache_entry_mutation: a result that was written to since is used all the same, and raises no error.

    Raises:
        TypeError: the argument is neither.
        ValueError: the list contains something else than overloads of operators, such as ``torch.ops.aten.mm.default``.

    Source: https://docs.pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.create_selective_checkpoint_contexts
    """
    from ._selective_checkpoint import contexts

    return contexts(policy_fn_or_list, _keeps, allow_cache_entry_mutation)


def _keeps(policy: Callable[..., object], operator: object, *args: object, **kwargs: object) -> bool:
    decision = policy(SelectiveCheckpointContext(is_recompute=False), operator, *args, **kwargs)
    save = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD)
    return any(decision is each for each in save)


class _CheckpointSettings:
    early_stop: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within this context, ``early_stop`` of each ``checkpoint`` has this value.

    Source: https://docs.pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_early_stop
    """
    before, _CheckpointSettings.early_stop = _CheckpointSettings.early_stop, enable
    try:
        yield
    finally:
        _CheckpointSettings.early_stop = before


def detach_variable(inputs: tuple[object, ...]) -> tuple[Any, ...]:
    """Detaches each tensor among the arguments from its graph. Tensors that required a gradient still do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        argument.detach()._require_grad(argument.requires_grad) if isinstance(argument, Tensor) else argument
        for argument in inputs
    )


def check_backward_validity(inputs: Iterable[object]) -> None:
    """Warns if no argument requires a gradient, because then none is computed."""
    if not any(input.requires_grad for input in inputs if isinstance(input, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def noop_context_fn() -> tuple[Any, Any]:
    """Returns two contexts that do nothing, for the forward pass and the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., object],
    *args: object,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: object,
) -> Any:
    """Calls ``function(*args, **kwargs)`` without keeping its activations: the backward pass runs the function again.

    Args:
        use_reentrant: False (recommended): tensors that the function's ops save are dropped, and computed again when the first is needed.
            True: the function runs without a graph, and its own backward pass runs within the outer one; at least one argument must
            require a gradient.
        context_fn: returns a context for the forward pass and one for the recomputation; ``use_reentrant=False`` only.
        determinism_check: "default" compares the shapes and dtypes of saved tensors, "none" does not.
        debug: has no effect.
        early_stop: the recomputation ends as soon as it has computed all saved tensors; ``use_reentrant=False`` only.
        preserve_rng_state: the recomputation draws the same random numbers.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: (x * x).sum(), x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])

    Raises:
        CheckpointError: in the backward pass, if the second run saves other tensors than the first.
        RuntimeError: then too, if a tensor among ``args`` has been written to.

    Source: https://docs.pytorch.org/docs/stable/checkpoint.html; Chen et al., "Training deep nets with sublinear memory cost" (2016).
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
            "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two "
            "variants.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return _Reentrant.apply(function, preserve_rng_state, *args)
    if _CheckpointSettings.early_stop is not None:
        early_stop = _CheckpointSettings.early_stop
    forward_context, again_context = context_fn()
    state = rng.states() if preserve_rng_state else None
    frame = _Frame(function, args, kwargs, state, again_context, determinism_check, early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
    frame.wait_for_gradients(result)
    return result


class _Enough(Exception):
    """Raised to end a recomputation as soon as all saved tensors have been computed."""


class _Saved:
    """A placeholder in the graph for a tensor that will be computed again. ``metadata``: shape, dtype and device."""

    __slots__ = ("metadata", "value", "__weakref__")

    def __init__(self, metadata: dict[str, object]) -> None:
        self.value: Tensor | None = None
        self.metadata = metadata


class _Frame:
    """The state of one call of ``checkpoint``: its arguments and random state, and placeholders for the tensors that its ops save."""

    def __init__(
        self,
        function: Any,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        state: Any,
        context: Any,
        check: str,
        early_stop: bool,
    ) -> None:
        self.function, self.args, self.kwargs, self.state = function, args, kwargs, state
        self.versions = [version_of(a) if isinstance(a, Tensor) else None for a in args]
        self.context, self.check, self.early_stop = context, check, early_stop
        self.autocast = modes.autocast  # of the forward pass: the backward pass runs outside of it
        self.saved: list[weakref.ref[_Saved]] = []
        self.complete, self.ends_later = (
            False,
            False,
        )  # whether the first run has ended; whether one again went further than it
        self.gradient: Tensor | None = None  # the gradient of a result, after the backward pass has reached it

    def wait_for_gradients(self, result: object) -> None:
        """Registers hooks that store the gradient of a result, so that the recomputation depends on it and cannot begin earlier."""

        def watch(value: object) -> None:
            if isinstance(value, Tensor) and value.grad_fn is not None:
                value.grad_fn.register_prehook(self.arrived)

        self.complete = True
        if self.saved:
            tree_map(watch, result)

    def arrived(self, gradients: tuple[Tensor | None, ...]) -> None:
        self.gradient = next(
            (gradient for gradient in gradients if gradient is not None and not gradient.is_sparse), None
        )

    def pack(self, tensor: Tensor) -> _Saved:
        saved = _Saved(_metadata(tensor))
        self.saved.append(weakref.ref(saved))
        return saved

    def unpack(self, saved: _Saved) -> Tensor:
        if saved.value is None:
            self.run_again()
        value = saved.value
        assert value is not None
        saved.value = None  # a second backward pass computes them again
        return value

    def run_again(self) -> None:
        for tensor, version in zip(self.args, self.versions, strict=True):
            if isinstance(tensor, Tensor) and version is not None and version_of(tensor) != version:
                writer = node_of(tensor)
                raise modified(storage_of(tensor), version, tensor._aval, None if writer is None else writer.operation)
        recomputed: list[Tensor] = []
        gradient, self.gradient = self.gradient, None

        def pack(tensor: Tensor) -> Tensor:
            recomputed.append(tensor.detach())
            if self.early_stop and len(recomputed) == len(self.saved):
                raise _Enough
            return tensor

        with (
            contextlib.suppress(_Enough),
            enable_grad(),
            rng.state_as(self.state),
            autocast_as(self.autocast),
            self.context,
            saved_tensors_hooks(pack, lambda tensor: tensor),
        ):
            self.function(
                *[_behind_barrier(a, gradient) for a in self.args],
                **{k: _behind_barrier(a, gradient) for k, a in self.kwargs.items()},
            )
        # A gradient is asked for within the function: the recomputation saves all, and the first run has not come so far.
        self.ends_later = self.ends_later or (not self.complete and len(recomputed) > len(self.saved))
        if len(recomputed) != len(self.saved) and not self.ends_later:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(recomputed)}.{_TIP}"
            )
        wrong = []
        for number, (reference, tensor) in enumerate(zip(self.saved, recomputed, strict=False)):
            saved = reference()
            if saved is None:
                continue
            if self.check != "none" and _metadata(tensor) != saved.metadata:
                wrong.append(
                    f"tensor at position {number}:\nsaved metadata: {saved.metadata}\nrecomputed metadata: {_metadata(tensor)}\n"
                )
            elif tensor.shape != saved.metadata["shape"]:  # the derivative is that of the first shape
                common_shape([saved.metadata["shape"], tensor.shape])
                raise CheckpointError(f"The recomputed tensor at position {number} has another shape: {tensor.shape}")
            saved.value = tensor
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                "pass.\n" + "".join(wrong) + "." + _TIP
            )


_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the "
    "code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint‑debug mode globally.\n"
)


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _behind_barrier(arg: object, gradient: Tensor | None) -> Any:
    """An argument behind a barrier, which keeps XLA from merging the recomputation with the first run and keeping its results."""
    if not isinstance(arg, Tensor):
        return arg
    if gradient is not None and gradient.device != arg.device:
        gradient = None
    with no_grad():
        fresh = recomputed(arg, gradient)
    return fresh._require_grad(arg.requires_grad)


class _Reentrant(Function):
    """Runs the function without a graph. Its backward runs the function again with a graph, and then the backward pass of that graph."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function, ctx.args = function, [None if isinstance(a, Tensor) else a for a in args]
        ctx.state = rng.states() if preserve else None
        ctx.autocast = modes.autocast
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: object) -> tuple[Tensor | None, ...]:
        if modes.backward_pass.runs is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        tensors = iter(ctx.saved_tensors)
        needs_grad = iter(ctx.needs_input_grad[2:])
        args = []
        gradient = next((grad for grad in grads if isinstance(grad, Tensor)), None)
        for plain in ctx.args:
            requires_grad = next(needs_grad)
            if plain is not None:
                args.append(plain)
                continue
            tensor = next(tensors, None)
            args.append(
                None if tensor is None else _behind_barrier(tensor.detach()._require_grad(requires_grad), gradient)
            )
        with enable_grad(), rng.state_as(ctx.state), autocast_as(ctx.autocast):
            outs = ctx.function(*args)
        outs = outs if isinstance(outs, tuple) else (outs,)
        pairs = [(o, g) for o, g in zip(outs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[a.grad if isinstance(a, Tensor) else None for a in args])


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Calls functions one after the other, in ``segments`` parts of about equal length. All parts except the last are checkpointed.

    Args:
        functions: a ``Sequential`` or a list.

    Source: https://docs.pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version 2.9 we will "
            "raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the "
            "two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: object) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(end, len(steps))(input)
