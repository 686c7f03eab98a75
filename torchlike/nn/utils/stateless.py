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
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
        "torch.func.functional_call instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call_with(
    module: Module,
    tensors: dict[str, Any],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors as its parameters and buffers, and restores its own afterwards.

    Args:
        tensors: the tensors by the names of ``named_parameters`` and ``named_buffers``. Tensors that the call assigns in their
            places (running statistics) are in this dictionary afterwards.
        args: a tuple of the arguments of the call, or the only argument.
        tie_weights: whether a tensor that the module has in several places is replaced in all of them.
        strict: whether ``tensors`` must have all names, and no others.

    Raises:
        TypeError: a value is not a tensor.
        RuntimeError: names are missing or unknown, and ``strict`` is set.
    """
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, tensors: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    places = {
        (f"{path}.{name}" if path else name): (vars(owner)[table], name)
        for path, owner in module.named_modules(remove_duplicate=False)
        for table in ("_parameters", "_buffers")
        for name, tensor in vars(owner)[table].items()
        if tensor is not None
    }
    replacements = dict(tensors)
    if tie_weights:
        by_tensor = {id(places[n][0][places[n][1]]): t for n, t in tensors.items() if n in places}
        for name, (table, key) in places.items():
            if id(table[key]) in by_tensor:
                replacements.setdefault(name, by_tensor[id(table[key])])
    if strict:
        missing, unknown = sorted(places.keys() - replacements.keys()), sorted(replacements.keys() - places.keys())
        texts = []
        if unknown:
            texts.append("Unexpected key(s): " + ", ".join(f"'{name}'" for name in unknown) + ".")
        if missing:
            texts.append("Missing key(s): " + ", ".join(f"'{name}'" for name in missing) + ".")
        if texts:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts))
    for tensor in replacements.values():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    originals = []
    try:
        for name, tensor in replacements.items():
            if name in places:
                table, key = places[name]
                originals.append((name, table, key, table[key]))
                table[key] = tensor
        yield
    finally:
        for name, table, key, original in reversed(originals):
            if name in tensors:
                tensors[name] = table[key]
            table[key] = original
