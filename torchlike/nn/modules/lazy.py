"""Layers that learn the size of their input from the first input."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..parameter import is_lazy
from ._hooks import HookHandle

if TYPE_CHECKING:
    from .module import Module


__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """A layer whose parameters have no shape before the first call, at which it becomes an ordinary layer.

    A class with this mixin assigns ``UninitializedParameter`` and ``UninitializedBuffer`` in ``__init__``, and defines
    ``initialize_parameters``, which takes the arguments of ``forward`` and materialises them.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.modules.lazy.LazyModuleMixin.html
    """

    cls_to_become: type[Module] | None = None

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _load_hook: HookHandle
    _initialize_hook: HookHandle

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        module._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        module._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Saves like every module. Tensors without a shape are saved as they are."""
        persistent = [(n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set]
        for name, tensor in itertools.chain(self._parameters.items(), persistent):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *args: object) -> None:
        """Takes the shapes from a ``state_dict`` before it is loaded."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if tensor is not None and loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
                with no_grad():
                    tensor.materialize(loaded.shape)

    def initialize_parameters(self, *args: object, **kwargs: object) -> None:
        """Materialises parameters and buffers. Its arguments are those of ``forward``."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in itertools.chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(
        self, module: Module, args: tuple[Tensor, ...], kwargs: Mapping[str, object] | None = None
    ) -> None:
        """Runs before the first ``forward``."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
