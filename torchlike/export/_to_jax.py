"""``torchlike.export_jax``: a module as an artifact of JAX (StableHLO), which runs without torchlike."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax import export as jax_export
from jax.extend.core import jaxpr_as_fun

from ..engine.jax_settings import tracing
from ..nn.modules.module import Module
from ._staged import numbered
from ._varying_program import Symbol, symbols_of, traced_program

__all__ = ["artifact_of", "export_jax"]

PLATFORMS = ("cpu", "cuda", "tpu")
_NARROW = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.uint64): np.dtype(np.uint32)}


def export_jax(
    module: Module,
    args: tuple[object, ...],
    kwargs: dict[str, object] | None = None,
    *,
    dynamic_shapes: object = None,
    platforms: Sequence[str] = PLATFORMS,
) -> jax_export.Exported:
    """A module as StableHLO with its weights, which any process with JAX runs, and none of it needs torchlike.

    The artifact is called with arrays in the place of tensors; what is neither a tensor nor a container of tensors is a constant.
    ``artifact.serialize()`` gives bytes, ``jax.export.deserialize(data).call(*arrays)`` runs them. The module is traced in the mode in
    which it is, without gradients.

    Args:
        module: the module.
        args, kwargs: example arguments.
        dynamic_shapes: which sizes may vary, as for ``torch.export.export``; names in the place of ``Dim`` s too.
        platforms: of JAX, for which it is made.

    64-bit integers are 32-bit ones for the caller, and 64-bit floats 32-bit ones, unless JAX has 64-bit types (``jax_enable_x64``) now.

    Raises:
        UserError: a size that is said to vary does not.
        RuntimeError: the module draws random numbers, or needs elements of its input.

    >>> artifact = torchlike.export_jax(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: "batch"},))
    >>> artifact.in_avals, artifact.out_avals
    ((ShapedArray(float32[batch,3]),), (ShapedArray(float32[batch,2]),))
    """
    args, kwargs = tuple(args), dict(kwargs or {})
    symbols = [] if dynamic_shapes is None else symbols_of(module, args, kwargs, dynamic_shapes)
    return artifact_of(module, args, kwargs, symbols, platforms)


def artifact_of(
    module: Module,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    symbols: list[Symbol],
    platforms: Sequence[str] = PLATFORMS,
) -> jax_export.Exported:
    """As ``export_jax``, for sizes that are known."""
    return _exported(module, args, kwargs, symbols, platforms, jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]


@tracing
def _exported(
    module: Module,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    symbols: list[Symbol],
    platforms: Sequence[str],
    wide: bool,
) -> jax_export.Exported:
    program, jaxpr, _ = traced_program(module, args, kwargs, symbols)
    weights = [each.detach().jax for each in program.weights.values()]
    compute, avals = jaxpr_as_fun(jaxpr), jaxpr.in_avals[len(weights) :]
    places = numbered((args, kwargs))
    order = jax.tree.leaves(places)  # JAX takes dictionaries in the order of their keys

    def run(*args: object, **kwargs: object) -> object:
        given = dict(zip(order, jax.tree.leaves((args, kwargs)), strict=True))
        arrays = [given[number].astype(aval.dtype) for number, aval in enumerate(avals)]
        outs = [each.astype(_outer(each.dtype, wide)) for each in compute(*weights, *arrays)]
        return jax.tree.map(lambda number: outs[number], program.result)

    specs = [jax.ShapeDtypeStruct(aval.shape, _outer(aval.dtype, wide)) for aval in avals]
    positional, named = jax.tree.map(lambda number: specs[number], places)
    return jax_export.export(jax.jit(run), platforms=tuple(platforms))(*positional, **named)


def _outer(dtype: np.dtype, wide: bool) -> np.dtype:
    """The dtype of an argument or a result for whoever calls the artifact."""
    if wide:
        return dtype
    return _NARROW.get(dtype, np.dtype(np.float32) if dtype == np.float64 else dtype)
