"""parallelize_module: applies a plan to the submodules that it names."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from ...device_mesh import DeviceMesh
from .._dtensor import replicate_rest
from ._styles import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: object,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Splits the layers of a module over a mesh, in place, as a plan describes. Returns the module.

    In one process, parameters that the plan does not name are copied to each device. Over several processes they stay plain tensors.

    Args:
        device_mesh: a mesh of one dimension, or a slice of one.
        parallelize_plan: the style of the module; or styles by the names of submodules, in which ``*`` and ``?`` are wildcards.

    Raises:
        TypeError: the plan is neither a style nor a dict. NotImplementedError: a style does not support a module.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.parallelize_module
    """
    mesh = device_mesh or DeviceMesh.current()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do "
            "nothing."
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        parallelize_plan._apply(module, mesh)
    elif isinstance(parallelize_plan, dict):
        for path, style in parallelize_plan.items():
            for submodule in _submodules_named(module, path):
                parallelize_module(submodule, mesh, style, src_data_rank=src_data_rank)
    else:
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    if not mesh.over_processes:
        replicate_rest(module, mesh)
    return module


def _submodules_named(module: Any, path: str) -> list[Any]:
    """The submodules that a path names; the module itself for an empty one."""
    submodules = [module]
    for token in path.split(".") if path else ():
        inside = [child for parent in submodules for name, child in parent.named_children() if fnmatch(name, token)]
        if not inside:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module {submodules[0]}, "
                "skipping this plan entry."
            )
        submodules = inside
        if not submodules:
            break
    return submodules
