"""state_dict and load_state_dict: a module's tensors by their dotted names."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ... import __future__
from ..._core.meta import on_meta
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...utils._swap import swap_tensors
from ..parameter import Parameter, is_lazy
from ._hooks import HookHandle

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    __str__ = __repr__


class _WrappedHook:
    """A load hook that may get its module as the first argument. Pickled modules contain it by this name, with these fields."""

    def __init__(self, hook: Callable[..., object], module: object) -> None:
        self.hook, self.with_module = hook, module is not None
        if module is not None:
            # The module has the hook, and is freed as soon as nobody else refers to it.
            self.module: Callable[[], object] = weakref.ref(module)

    def __call__(self, *args: object) -> Any:
        return self.hook(self.module(), *args) if self.with_module else self.hook(*args)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | ({"module": self.module()} if self.with_module else {})

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(state["hook"], state.get("module"))  # pyright: ignore[reportArgumentType]


class Stateful:
    """The part of Module that saves its tensors into a ``state_dict`` and loads them."""

    # Saved in the metadata of a state_dict, so that a class recognises files of its older versions.
    _version: int = 1

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # ---- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Returns the module's parameters and persistent buffers by name. Names of submodules' tensors begin with the path.

        Args:
            destination: the dictionary to fill (default: a new one).
            prefix: the beginning of each name.
            keep_vars: return the tensors themselves, not detached ones.

        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']

        Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
        """
        if args:  # positional arguments, PyTorch's old form
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        own: Any = self
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(own._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        own._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(own._state_dict_hooks.values()):
            result = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Puts this module's own tensors into ``destination``, without those of its submodules."""
        for name, tensor in self._parameters.items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Further data for ``state_dict``. A subclass defines it, together with ``set_extra_state``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restores what ``get_extra_state`` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies tensors from a ``state_dict`` into this module's parameters and buffers.

        Args:
            strict: the names in ``state_dict`` and in the module must be the same.
            assign: use the tensors of ``state_dict`` themselves, with their dtype and device, instead of copying.

        Returns:
            The missing names and the unexpected names.

        Raises:
            RuntimeError: names or shapes do not match; the message lists all of them. Tensors that match are loaded nevertheless.

        >>> model = torch.nn.Linear(2, 1)
        >>> model.load_state_dict(torch.nn.Linear(2, 1).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        # A copy, because hooks may remove and rename keys, and the caller's dictionary must stay as it is.
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        _load(self, state, "", metadata, strict, assign, missing, unexpected, errors)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            error_list = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{error_list}")
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own tensors from ``state_dict``, without those of its submodules."""
        module: Any = self
        for hook in list(module._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        persistent = [(n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set]
        for name, tensor in itertools.chain(self._parameters.items(), persistent):
            if tensor is None:
                continue
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            problem = _load_tensor(self, name, tensor, key, state_dict[key], assign)
            if problem is not None:
                error_msgs.append(problem)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            # Each module finds the unexpected names below its own path, so that a module that overrides this method decides about its
            # names.
            names = [key for key in state_dict if key.startswith(prefix) and key != extra]
            unexpected_keys.extend(key for key in names if not _expects(self, key[len(prefix) :]))

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict`` begins."""
        module: Any = self
        return HookHandle(module._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` when ``state_dict`` is done; it may change the dictionary."""
        module: Any = self
        # Such a hook must return None. What a hook of ``_register_state_dict_hook`` returns replaces the dictionary.
        hook._from_public_api = True  # pyright: ignore[reportFunctionMemberAccess]
        return HookHandle(module._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., object]) -> HookHandle:
        """As ``register_state_dict_post_hook``, but what the hook returns replaces the dictionary."""
        module: Any = self
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return HookHandle(module._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., object], with_module: bool = False) -> HookHandle:
        module: Any = self
        return HookHandle(module._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Calls ``hook(module, incompatible_keys)`` after loading; it may change the lists of names."""
        module: Any = self
        return HookHandle(module._load_state_dict_post_hooks, hook)


def _load(
    module: Any,
    state_dict: Any,
    prefix: str,
    metadata: Any,
    strict: bool,
    assign: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = True
    # strict=True here makes the lists complete. load_state_dict decides at the end: without ``strict`` it returns them.
    module._load_from_state_dict(state_dict, prefix, local, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            path = f"{prefix}{name}."
            # Only its own names: a child's hooks must not see or change those of its siblings. PyTorch does the same.
            members = {k: v for k, v in state_dict.items() if k.startswith(path)}
            _load(child, members, path, metadata, strict, assign, missing, unexpected, errors)
    incompatible_keys = _IncompatibleKeys(missing, unexpected)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, incompatible_keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )


def _load_tensor(module: object, name: str, own: Any, key: str, loaded: object, assign: bool) -> str | None:
    """Loads one tensor of a state_dict. Returns an error message if it does not fit."""
    if not isinstance(loaded, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
            f"received {type(loaded)}"
        )
    if is_lazy(own) and is_lazy(loaded):
        return None  # neither has values
    if loaded.shape != own.shape:
        # PyTorch before version 0.4 wrote scalars as vectors of one element.
        if own.dim() == 0 and tuple(loaded.shape) == (1,):
            loaded = loaded[0]  # pyright: ignore[reportIndexIssue]
        else:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, the shape in current model "
                f"is {own.shape}."
            )
    if on_meta(own) and not on_meta(loaded) and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
            "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the "
            "module instead of copying them in place?)",
            stacklevel=2,
        )
    try:
        with no_grad():
            if not assign:
                own.copy_(loaded)
            elif __future__.get_swap_module_params_on_conversion():
                # The tensor stays the same object, and becomes what is loaded.
                made = own.module_load(loaded, assign=True)
                if type(made) is Tensor:
                    own.data, own.grad = made, None
                else:
                    swap_tensors(own, Parameter(made, own.requires_grad) if isinstance(own, Parameter) else made)
            elif isinstance(own, Parameter):
                parameter = (
                    loaded if isinstance(loaded, Parameter) else Parameter(loaded, requires_grad=own.requires_grad)
                )
                # The module decides what is trained, not the file.
                parameter._require_grad(own.requires_grad)
                setattr(module, name, parameter)
            else:
                setattr(module, name, loaded)
    # All problems are collected and reported together, so that one wrong tensor does not hide the others.
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{own.size()} and whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
        )
    return None


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _expects(module: Any, name: str) -> bool:
    """Whether a name, without the module's path, belongs to a tensor of this module or to one of its submodules."""
    first, *further = name.split(".", 1)
    if further:
        return first in module._modules
    if first in module._buffers:
        return module._buffers[first] is not None and first not in module._non_persistent_buffers_set
    return module._parameters.get(first) is not None
