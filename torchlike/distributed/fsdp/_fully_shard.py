"""fully_shard: the parameters of a module are spread over a mesh, and gathered while the module computes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from ..._core import devices
from ..._core.tensor import Tensor
from ...dispatch.moving import move, put_on_mesh
from ...engine.aval import Meshed
from .._groups import get_world_size, is_initialized
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._dtensor import replicate_rest
from ..tensor._layouts import is_on_mesh, normalized, where
from ..tensor.placement_types import Placement, Replicate, Shard
from ._gathering import Gathered, substituted
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._processes import ProcessUnits

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class _Depth(threading.local):
    count = 0


_depth = _Depth()


class _State:
    """The settings that fully_shard keeps for a module."""

    def __init__(
        self, module: object, mesh: DeviceMesh, policy: MixedPrecisionPolicy, reshard: bool | None, ignored: set[int]
    ) -> None:
        self.mesh, self.policy, self.reshard = mesh, policy, reshard
        # Pieces lie along the last dimension of the mesh. A first one of two counts copies.
        self.axis = "" if mesh.over_processes else mesh.grid.axes[-1]
        self.processes: ProcessUnits | None = None
        self.owners = [
            (owner, name, parameter)
            for owner in _own_modules(module)
            for name, parameter in owner._parameters.items()
            if parameter is not None and id(parameter) not in ignored
        ]
        self.parameters = {id(parameter): parameter for _, _, parameter in self.owners}
        self.unsharded = False

    def gather(self) -> dict[int, Gathered]:
        return {key: Gathered(parameter, self.axis, self.policy) for key, parameter in self.parameters.items()}

    def spread(self, argument: object) -> Any:
        """Spreads the tensors of an input over the devices along the batch, and casts them to the policy's dtype."""
        if isinstance(argument, (list, tuple)):
            parts = [self.spread(element) for element in argument]
            return type(argument)(*parts) if hasattr(argument, "_fields") else type(argument)(parts)
        if isinstance(argument, dict):
            return type(argument)((key, self.spread(element)) for key, element in argument.items())
        if not isinstance(argument, Tensor):
            return argument
        if self.processes is None and not is_on_mesh(argument):
            # A batch that does not divide is computed whole on each device: slower, and with the same results.
            cut = argument.dim() > 0 and argument.shape[0] % self.mesh.size() == 0
            argument = move(argument, where(self.mesh, [Shard(0) if cut else Replicate()] * self.mesh.ndim))
        return _cast(argument, self.policy.param_dtype if self.policy.cast_forward_inputs else None)


def _own_modules(module: Any) -> list[Any]:
    """Returns a module and its submodules, without those to which fully_shard was applied before."""
    modules = [module]
    for child in module._modules.values():
        if child is not None and not isinstance(child, FSDPModule):
            # Parameters of submodules with a state of their own are gathered when those run, and not before.
            modules += _own_modules(child)
    return modules


def _cast(argument: object, dtype: object) -> Any:
    if dtype is None:
        return argument
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        return type(argument)(_cast(element, dtype) for element in argument)
    return argument.to(dtype) if isinstance(argument, Tensor) and argument.is_floating_point() else argument  # pyright: ignore[reportAttributeAccessIssue]


def _gathered(state: _State, reshard: bool) -> AbstractContextManager[object]:
    if state.processes is not None:
        return state.processes.gathered(reshard)
    return substituted(state.owners, state.gather(), reshard)


def _call_gathered(
    module: Any, call: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> Any:
    """Calls a module, or a method of it, with its whole parameters."""
    state: _State = module._fsdp_state
    args, kwargs = state.spread(args), state.spread(kwargs)
    if state.unsharded:
        return _cast(call(*args, **kwargs), state.policy.output_dtype)
    # As in PyTorch the outermost module is not gathered again: its parameters would be needed at once.
    reshard = _depth.count > 0 if state.reshard is None else state.reshard
    _depth.count += 1
    try:
        with _gathered(state, reshard):
            result = call(*args, **kwargs)
    finally:
        _depth.count -= 1
    return _cast(result, state.policy.output_dtype)


class UnshardHandle:
    """The result of ``unshard(async_op=True)``."""

    def wait(self) -> None:
        """Does nothing, because recorded operations run in order."""


class FSDPModule:
    """A module to which ``fully_shard`` was applied. Its class derives from this one and from the class that it had."""

    _fsdp_state: _State

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return _call_gathered(self, super().__call__, args, kwargs)  # pyright: ignore[reportAttributeAccessIssue]

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the parameters until ``reshard`` is called."""
        state = self._fsdp_state
        if state.processes is not None and not state.unsharded:
            state.processes.unshard()
        elif not state.unsharded:
            gathered = state.gather()
            for module, name, parameter in state.owners:
                module._parameters[name] = gathered[id(parameter)].whole
        state.unsharded = True
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Frees the whole parameters that ``unshard`` gathered; the module has its pieces again."""
        state = self._fsdp_state
        if state.processes is not None:
            state.processes.reshard()
        else:
            for module, name, parameter in state.owners:
                module._parameters[name] = parameter
        state.unsharded = False

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are gathered again in the backward pass."""
        for module in _fsdp_modules(self, recurse):
            module._fsdp_state.reshard = reshard_after_forward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward passes exchange gradients between processes, or sum them up for a later one.

        In one process it changes nothing: gradients of several batches add up on the pieces.
        """
        for module in _fsdp_modules(self, recurse):
            if module._fsdp_state.processes is not None:
                module._fsdp_state.processes.synchronise(requires_gradient_sync)

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Changes nothing in one process.

        Raises:
            NotImplementedError: several processes with several copies of the pieces.
        """
        state = self._fsdp_state
        if state.processes is not None and state.mesh.ndim == 2 and not requires_all_reduce:
            raise NotImplementedError(
                "torchlike does not support FSDPModule.set_requires_all_reduce(False) over several processes yet"
            )

    # XLA orders the exchanges: these change nothing.

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Changes nothing: nothing waits for the last backward pass."""

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Changes nothing: gathered parameters are freed at the end of the step's program."""

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Changes nothing: XLA orders the exchanges."""

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Changes nothing: XLA orders the exchanges."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Changes nothing: only what the backward pass reads is gathered."""

    def reset_iter_state(self) -> None:
        """Changes nothing: no state is kept between steps."""


def _unsupported(name: str) -> Callable[..., NoReturn]:
    def method(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"torchlike does not support FSDPModule.{name} yet")

    method.__name__, method.__doc__ = name, "Not supported: always NotImplementedError."
    return method


for _name in (
    "set_custom_all_gather", "set_custom_reduce_scatter", "set_all_reduce_hook", "set_post_optim_event", "set_reduce_scatter_divide_factor",
    "set_gradient_divide_factor", "set_force_sum_reduction_for_comms", "set_reduce_scatter_unused_params",
    "set_reduce_scatter_max_input_buffers", "set_separate_reduce_scatter_group", "set_allocate_memory_from_process_group_for_comm",
    "set_symm_mem_for_comm",
):  # fmt: skip
    setattr(FSDPModule, _name, _unsupported(_name))


def _fsdp_modules(module: Any, recurse: bool) -> list[Any]:
    return [submodule for submodule in module.modules() if isinstance(submodule, FSDPModule)] if recurse else [module]


_classes: dict[type, type] = {}
_AS_IT_IS, _NOTHING = MixedPrecisionPolicy(), OffloadPolicy()


def fully_shard(
    module: object,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = _AS_IT_IS,
    offload_policy: OffloadPolicy = _NOTHING,
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: object = None,
) -> Any:
    """Spreads the parameters of a module over a mesh, in place, and with them their gradients and the optimizer's state.

    Each device keeps a piece of every parameter. A parameter is whole only while the module computes with it. Submodules to which the
    function was applied before keep their own parameters. In several processes the parameters are replaced by DTensors, and each process
    calls the module with its part of the batch. In one process inputs are split along their first dimension, so that each device
    computes its part.

    Args:
        module: a module, or several.
        mesh: of one dimension; or of two, where the first says how many copies of all pieces there are. By default all processes, or
            all devices of the only one.
        reshard_after_forward: whether parameters are gathered again in the backward pass, instead of being kept. None: for all but the
            outermost module.
        shard_placement_fn: returns for a parameter the placement along which it is split; None stands for the first dimension.
        mp_policy: the dtypes.
        ignored_params: parameters that are not split: each device gets a copy.

    Raises:
        ValueError: a container without ``forward``. AssertionError: it was applied before. NotImplementedError: offloading to the
            host, or a number for ``reshard_after_forward``.

    Source: https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    """
    if isinstance(offload_policy, CPUOffloadPolicy):
        raise NotImplementedError("torchlike does not support fully_shard with CPUOffloadPolicy yet")
    if dp_mesh_dims is not None:
        raise NotImplementedError("torchlike does not support fully_shard(dp_mesh_dims=...) yet")
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("torchlike does not support a number for reshard_after_forward yet")
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for root in modules:
        _check(root)
    mesh = mesh or _all_devices()
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    ignored = {id(parameter) for parameter in ignored_params or ()}
    for root in modules:
        state = _State(root, mesh, mp_policy, reshard_after_forward, ignored)
        if mesh.over_processes:
            state.processes = ProcessUnits(state.owners, mesh, mp_policy, shard_placement_fn)
        else:
            for parameter in state.parameters.values():
                _shard(parameter, mesh, None if shard_placement_fn is None else shard_placement_fn(parameter))
            replicate_rest(root, mesh)
        kind = type(root)
        if kind not in _classes:
            _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {})
        root.__class__ = _classes[kind]
        root.__dict__["_fsdp_state"] = state
    return module


def _check(module: object) -> None:
    if isinstance(module, FSDPModule):
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. fully_shard has already been applied to the "
            f"following module:\n{module}"
        )
    if type(module).__name__ in ("ModuleList", "ModuleDict"):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")


def _all_devices() -> DeviceMesh:
    kind = devices.accelerator()
    kind = "cpu" if kind is None else kind.type
    if is_initialized() and get_world_size() > 1:
        return init_device_mesh(kind, (get_world_size(),))
    return init_device_mesh(kind, (len(devices.devices_of(kind)),))


def _shard(parameter: Any, mesh: DeviceMesh, wish: Shard | None) -> None:
    """Splits a parameter. If it is already split along another axis of the mesh, its pieces are split further."""
    placement: Placement = Shard(0) if wish is None else wish
    if not parameter.dim():
        raise ValueError(
            "fully_shard doesn't support scalar parameters. Change it to a 1D tensor with numel equal to 1."
        )
    before = parameter._aval.placement
    placements = normalized([Replicate()] * (mesh.ndim - 1) + [placement], mesh, parameter.dim())
    target = where(mesh, placements, before if isinstance(before, Meshed) else None)
    if isinstance(before, Meshed) and before.mesh != target.mesh:
        raise ValueError(f"the parameter lies on another mesh: {before}")
    put_on_mesh(parameter, target)


def register_fsdp_forward_method(module: object, method_name: str) -> None:
    """Makes a method run with the whole parameters, as ``forward`` does. Does nothing for modules without ``fully_shard``."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method: Callable[..., Any] = getattr(module, method_name)
    module.__dict__[method_name] = lambda *args, **kwargs: _call_gathered(module, method, args, kwargs)
