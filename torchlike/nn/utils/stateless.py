"""Calls a module with parameters other than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor

if TYPE_CHECKING:
    from ..modules.module import Module


__all__ = ["call_with", "functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old address of ``torch.func.functional_call``, deprecated; see ``call_with``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call_with(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors as its parameters, buffers and attributes, and restores its own afterwards.

    Args:
        parameters_and_buffers: the tensors by dotted names, which may be new. Tensors that the call assigns in their places (running
            statistics) are in this dictionary afterwards.
        args: a tuple of the arguments of the call, or the only argument.
        tie_weights: whether a tensor that the module has in several places is replaced in all of them.
        strict: whether these must have all names, and no others.

    ``_reparametrize_module`` says what raises.
    """
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


_functional_call = call_with  # as libraries call it


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Any], tie_weights: bool = False, strict: bool = False, stack_weights: bool = False
) -> Iterator[None]:  # fmt: skip
    """Within it a module has other tensors in the places of its own; what it has there at the end is in the dictionary afterwards.

    Raises:
        AttributeError: a name leads through a module that is not there.
        TypeError: a value is neither a tensor nor None, or stands for something that is no tensor.
        ValueError: two names of one tensor are given different ones, while the tensors of all its names are to be the same.
        RuntimeError: names are missing or unknown, and ``strict`` is set.
    """
    given = parameters_and_buffers
    replacements = _tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_names(module, replacements)
    originals: list[tuple[str, _Place, object]] = []
    try:
        for name, tensor in replacements.items():
            place = _Place(module, name)
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"{tensor} is not an instance of torch.Tensor")
            originals.append((name, place, place.get()))
            place.set(tensor)
        yield
    finally:
        # Backwards: a tensor of a module that has two names was replaced twice, and what it was before is known to the first place.
        for name, place, original in reversed(originals):
            if name in given:
                given[name] = place.get()
            place.set(original)


_MISSING = object()


class _Place:
    """Where a module has a tensor: among its parameters or buffers, or as an attribute."""

    def __init__(self, module: Module, name: str) -> None:
        *path, self.name = name.split(".")
        if not self.name:
            raise KeyError('tensor name can\'t be empty string ""')
        owner: Any = module
        for part in path:
            if not hasattr(owner, part):
                raise AttributeError(f"{owner._get_name()} has no attribute `{part}`")
            owner = getattr(owner, part)
        self.owner = owner

    def _table(self) -> dict[str, object] | None:
        tables = vars(self.owner)["_parameters"], vars(self.owner)["_buffers"]
        return next((table for table in tables if self.name in table), None)

    def get(self) -> object:
        """The tensor there; ``_MISSING`` where nothing is."""
        table = self._table()
        value = getattr(self.owner, self.name, _MISSING) if table is None else table[self.name]
        if table is None and value is not _MISSING and not isinstance(value, Tensor):
            raise TypeError(f"attribute `{self.name}`: {value} is not an instance of torch.Tensor")
        return value

    def set(self, tensor: object) -> None:
        """Puts a tensor there, or takes away what is there."""
        table = self._table()
        if tensor is _MISSING:
            delattr(self.owner, self.name)
        elif table is None:
            setattr(self.owner, self.name, tensor)
        else:
            table[self.name] = tensor


def _tensors_of(module: Module) -> dict[str, Tensor]:
    """The parameters and buffers by all their names."""
    return {
        (f"{path}.{name}" if path else name): tensor
        for path, owner in module.named_modules(remove_duplicate=False)
        for table in ("_parameters", "_buffers")
        for name, tensor in vars(owner)[table].items()
        if tensor is not None
    }


def _tied(module: Module, given: Mapping[str, object]) -> dict[str, object]:
    """The tensors for all names of those that were given for one."""
    names: dict[int, list[str]] = {}
    for name, tensor in _tensors_of(module).items():
        names.setdefault(id(tensor), []).append(name)
    tied = dict(given)
    for same in names.values():
        own = [name for name in same if name in given]
        if len({id(given[name]) for name in own}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(own)}, which are tied. Consider using tie_weights=False"
            )
        if own:
            tied.update(dict.fromkeys(same, given[own[0]]))
    return tied


def _check_names(module: Module, replacements: Mapping[str, object]) -> None:
    own = _tensors_of(module)
    missing, unknown = sorted(own.keys() - replacements.keys()), sorted(replacements.keys() - own.keys())
    texts = []
    if unknown:
        texts.append("Unexpected key(s): " + ", ".join(f"'{name}'" for name in unknown) + ".")
    if missing:
        texts.append("Missing key(s): " + ", ".join(f"'{name}'" for name in missing) + ".")
    if texts:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts))
