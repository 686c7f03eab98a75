"""GradScaler: losses scaled up, so that small gradients do not vanish in float16."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

from .. import ops
from .._core.devices import devices_of
from .._core.dtypes import float16, float32, int32
from .._core.sparse import is_sparse
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import full

__all__ = ["GradScaler"]


class GradScaler:
    """Scales losses, divides gradients again, and skips steps whose gradients are not finite.

    Args:
        device: "cuda" or "cpu".
        init_scale: the first scale.
        growth_factor: what it is multiplied by after ``growth_interval`` steps without trouble.
        backoff_factor: what it is multiplied by after a step that was skipped.
        growth_interval: how many steps.
        enabled: False does nothing.

    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(1.0))
    tensor(8.)

    Source: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device == "cuda" and not devices_of("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._init_scale, self._init_growth_tracker = init_scale, 0
        # Tensors from the first scaled loss on, on its device; both are lost in a pickle, which keeps the numbers.
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        # By optimizer: "unscaled" or "stepped", and whether all its gradients are finite (a tensor, read when it matters).
        self._stages: dict[int, str] = {}
        self._finite: dict[int, Any] = {}

    def scale(self, outputs: Tensor | Iterable[Any]) -> Any:
        """A loss, or a nest of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._start(outputs.device)
            return outputs * self._scale.to(outputs.device)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _start(self, device: object) -> None:
        self._scale = full((), self._init_scale, dtype=float32, device=device)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)

    def unscale_(self, optimizer: Any) -> None:
        """Divides an optimizer's gradients by the scale, before they are clipped, say.

        Raises:
            RuntimeError: a second time before ``update``, or after ``step``.
            ValueError: a gradient has float16. Parameters are to be in float32, with the half type from autocast.
        """
        if not self._enabled:
            return
        scale = self._started("unscale_")
        stage = self._stages.get(id(optimizer))
        if stage == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        self._check_finite(optimizer, scale)
        self._stages[id(optimizer)] = "unscaled"

    def _check_finite(self, optimizer: Any, scale: Tensor | None) -> None:
        """Looks whether all gradients of an optimizer are finite, and divides them by the scale if there is one."""
        with no_grad():
            finite = []
            factor = None if scale is None else scale.double().reciprocal().float()  # pyright: ignore[reportAttributeAccessIssue]
            for parameter in (p for group in optimizer.param_groups for p in group["params"]):
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                finite.append(ops.isfinite(grad._values() if is_sparse(grad) else grad).all())
                if factor is not None:
                    grad.mul_(factor.to(grad.device))
            if finite:
                self._finite[id(optimizer)] = ops.stack(finite).all()

    def _started(self, name: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
                "the iteration."
            )
        return self._scale

    def step(self, optimizer: Any, *args: object, **kwargs: object) -> Any:
        """``optimizer.step()`` with gradients divided by the scale, unless one of them is not finite.

        Raises:
            RuntimeError: a second time before ``update``. AssertionError: there are no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if self._stages.get(id(optimizer)) == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        scale = self._started("step")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_that_scales(optimizer, scale, args, kwargs)
        if self._stages.get(id(optimizer)) is None:
            self.unscale_(optimizer)
        if id(optimizer) not in self._finite:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._stages[id(optimizer)] = "stepped"
        return optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None

    def _step_that_scales(
        self, optimizer: Any, scale: Tensor, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        """The step of an optimizer that divides its gradients and leaves out steps by itself: the scale is handed to it.

        It gets the scaler where its ``step`` has a parameter ``grad_scaler``, as was the rule once, else the attributes ``grad_scale``
        and ``found_inf``.
        """
        takes_scaler = "grad_scaler" in inspect.signature(optimizer.step).parameters
        if takes_scaler:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future GradScaler "
                "registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            kwargs = {**kwargs, "grad_scaler": self}
        else:
            unscaled = self._stages.get(id(optimizer)) == "unscaled"
            if not unscaled:
                self._check_finite(optimizer, None)
            optimizer.grad_scale = None if unscaled else scale * getattr(optimizer, "grad_scale", 1)
            optimizer.found_inf = self._finite[id(optimizer)].logical_not().float()
        result = optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = "stepped"
        if not takes_scaler:
            del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapts the scale to what the last steps met, or sets it."""
        if not self._enabled:
            return
        scale, tracker = self._started("update"), self._growth_tracker
        assert tracker is not None
        with no_grad():
            if new_scale is not None:
                scale.copy_(_as_scale(new_scale))  # pyright: ignore[reportAttributeAccessIssue]
            else:
                if not self._finite:
                    raise AssertionError("No inf checks were recorded prior to update.")
                self._adapt(scale, tracker, all(self._finite.values()))
        self._stages.clear()
        self._finite.clear()

    def _adapt(self, scale: Any, tracker: Any, finite: bool) -> None:
        if not finite:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        count = int(tracker) + 1
        if count < self._growth_interval:
            tracker.fill_(count)
            return
        grown = scale * self._growth_factor
        if bool(grown.isfinite()):
            scale.copy_(grown)
        tracker.zero_()

    def get_scale(self) -> float:
        """The scale; 1 where scaling is switched off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()  # pyright: ignore[reportAttributeAccessIssue]

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def get_growth_interval(self) -> int:
        """After how many steps it grows."""
        return self._growth_interval

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps it grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The state, in PyTorch's form; empty where scaling is switched off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])  # pyright: ignore[reportAttributeAccessIssue]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])  # pyright: ignore[reportAttributeAccessIssue]

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._stages:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}
        return state


def _as_scale(new_scale: Tensor | float) -> Tensor:
    """The scale that a program sets, a number or a tensor of one element; AssertionError in PyTorch's words for another tensor."""
    if not isinstance(new_scale, Tensor):
        return full((), float(new_scale), dtype=float32)
    words = "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with requires_grad=False."
    if new_scale.numel() != 1 or new_scale.requires_grad:
        raise AssertionError(words)
    return new_scale.reshape(())  # pyright: ignore[reportAttributeAccessIssue]
