"""GradScaler: losses scaled up, so that small gradients do not vanish in float16."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from .. import ops
from .._core.devices import devices_of
from .._core.dtypes import float16
from .._core.sparse import is_sparse
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad

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
        self._scale = init_scale
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._growth_tracker = 0
        self._used = False
        # By optimizer: "unscaled" or "stepped", and whether all its gradients are finite (a tensor, read when it matters).
        self._stages: dict[int, str] = {}
        self._finite: dict[int, Any] = {}

    def scale(self, outputs: Tensor | Iterable[Any]) -> Any:
        """A loss, or a nest of them, times the scale."""
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides an optimizer's gradients by the scale, before they are clipped, say.

        Raises:
            RuntimeError: a second time before ``update``, or after ``step``.
            ValueError: a gradient has float16. Parameters are to be in float32, with the half type from autocast.
        """
        if not self._enabled:
            return
        self._require_used("unscale_")
        stage = self._stages.get(id(optimizer))
        if stage == "unscaled":
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        with no_grad():
            finite = []
            for parameter in (p for group in optimizer.param_groups for p in group["params"]):
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                finite.append(ops.isfinite(grad._values() if is_sparse(grad) else grad).all())
                grad.mul_(1 / self._scale)
            if finite:
                self._finite[id(optimizer)] = ops.stack(finite).all()
        self._stages[id(optimizer)] = "unscaled"

    def _require_used(self, name: str) -> None:
        if not self._used:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
                "the iteration."
            )

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
        self._require_used("step")
        if self._stages.get(id(optimizer)) is None:
            self.unscale_(optimizer)
        if id(optimizer) not in self._finite:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._stages[id(optimizer)] = "stepped"
        return optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None

    def update(self, new_scale: Any = None) -> None:
        """Adapts the scale to what the last steps met, or sets it."""
        if not self._enabled:
            return
        self._require_used("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._finite:
                raise AssertionError("No inf checks were recorded prior to update.")
            if all(self._finite.values()):
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
            else:
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        self._stages.clear()
        self._finite.clear()

    def get_scale(self) -> float:
        """The scale; 1 where scaling is switched off."""
        return self._scale if self._enabled else 1.0

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
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
