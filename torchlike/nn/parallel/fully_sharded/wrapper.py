"""FullyShardedDataParallel: parameters, gradients and optimizer state spread over processes, each with its own part of the batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from typing import Any, NoReturn

from ...._core.annotations import DeviceLike
from ...._core.dtypes import dtype
from ...._core.tensor import Tensor
from ....autograd.grad_mode import no_grad
from ....distributed._groups import ProcessGroup, ReduceOp, group_of
from ....distributed._tensors import all_reduce, broadcast
from ....distributed.device_mesh import DeviceMesh
from ....ops import stack, tensor
from ....utils._pytree import tree_map
from ...modules.module import Module
from ...parameter import Parameter
from ..activation_wrappers import ActivationWrapper
from .flat_param import FlatParamHandle
from .optimizer_state import loadable_state, whole_state
from .options import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import auto_wrap

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

INNER = "_fsdp_wrapped_module"
FLAT = "_flat_param"
HYBRID = {
    ShardingStrategy.HYBRID_SHARD: ShardingStrategy.FULL_SHARD,
    ShardingStrategy._HYBRID_SHARD_ZERO2: ShardingStrategy.SHARD_GRAD_OP,
}


class OptimStateKeyType(Enum):
    """By what an optimizer's state dictionary names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


def clean(name: str) -> str:
    """A name without the parts that the wrapper adds."""
    return name.replace(f"{INNER}.", "")


class FullyShardedDataParallel(Module):
    """Spreads the parameters of a module over processes, with their gradients and the optimizer's state.

    The parameters of a module are a unit, without those of submodules that are wrapped themselves. They lie one after another in a flat
    parameter, of which each process keeps an equal chunk. It is gathered when the module computes, and gradients are averaged over all
    processes and scattered to the chunks: one exchange each for a unit. An optimizer is made afterwards, with ``parameters()`` of this
    module.

    Args:
        module: the module.
        process_group: the processes (default: all). For hybrid strategies two groups: over the first a unit is spread, and between the
            processes of the second gradients are averaged.
        sharding_strategy: what is spread, by default ``ShardingStrategy.FULL_SHARD``.
        cpu_offload: changes nothing on CPUs, and is not supported elsewhere.
        auto_wrap_policy: which submodules become units of their own; see ``torch.distributed.fsdp.wrap``.
        backward_prefetch, forward_prefetch, limit_all_gathers: change nothing: XLA orders the exchanges.
        mixed_precision: the dtypes.
        ignored_modules, ignored_states: modules and parameters that stay as they are.
        param_init_fn: fills a module whose parameters are on the meta device.
        device_id: the device.
        sync_module_states: whether all processes begin with the parameters and buffers of process 0.
        use_orig_params: whether the parameters keep their names, and each its part of the chunk, instead of one flat parameter.
        device_mesh: the processes as a mesh, in place of ``process_group``.

    Raises:
        ValueError: parameters of a unit differ in dtype, or without ``use_orig_params`` in ``requires_grad``; the groups do not fit the
            strategy. NotImplementedError: a feature that is not supported.

    >>> fsdp = torch.distributed.fsdp
    >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = fsdp.FullyShardedDataParallel(torch.nn.Linear(2, 2), sharding_strategy=fsdp.ShardingStrategy.NO_SHARD)
    >>> [tuple(parameter.shape) for parameter in model.parameters()]
    [(6,)]
    >>> list(model.state_dict())
    ['weight', 'bias']
    >>> torch.distributed.destroy_process_group()

    Source: https://docs.pytorch.org/docs/stable/fsdp.html
    """

    def __init__(
        self,
        module: Module,
        process_group: object = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: object = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: DeviceLike | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[object] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self._check_supported()
        self.process_group, self._copies = _groups(process_group, device_mesh, self.sharding_strategy)
        if self.process_group.size() == 1 and self.sharding_strategy is not ShardingStrategy.NO_SHARD:
            warnings.warn(
                f"FSDP is switching to use `NO_SHARD` instead of {self.sharding_strategy} since the world size is 1.",
                stacklevel=2,
            )
            self.sharding_strategy = ShardingStrategy.NO_SHARD
        self._use_orig_params = use_orig_params
        ignored, excluded = _ignored(module, ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            self._wrap_submodules(
                module, auto_wrap_policy, ignored,
                {
                    "process_group": process_group, "sharding_strategy": sharding_strategy, "cpu_offload": cpu_offload,
                    "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision, "param_init_fn": param_init_fn,
                    "device_id": device_id, "sync_module_states": sync_module_states, "forward_prefetch": forward_prefetch,
                    "limit_all_gathers": limit_all_gathers, "use_orig_params": use_orig_params, "device_mesh": device_mesh,
                    "ignored_states": [p for p in module.parameters() if id(p) in excluded] or None,
                },
            )  # fmt: skip
        _materialize(module, param_init_fn)
        if device_id is not None:
            module.to(device_id)
        setattr(self, INNER, module)
        self._is_root: bool | None = None
        self._settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
        )
        self._stacks: list[ExitStack] = []
        if sync_module_states:
            self._synchronize(module, excluded)
        self._handle = self._make_handle(module, excluded)
        self.register_state_dict_pre_hook(_before_saving)
        self._register_state_dict_hook(_after_saving)
        self.register_load_state_dict_pre_hook(_before_loading)
        self.register_load_state_dict_post_hook(_after_loading)

    # ---- construction

    def _check_supported(self) -> None:
        if self.mixed_precision.keep_low_precision_grads:
            raise NotImplementedError("torchlike does not support MixedPrecision(keep_low_precision_grads=True) yet")

    def _wrap_submodules(self, module: Module, policy: object, ignored: set[Module], kwargs: dict[str, object]) -> None:
        classes = tuple(self.mixed_precision._module_classes_to_ignore)
        if self.mixed_precision.param_dtype is not None and any(isinstance(each, classes) for each in module.modules()):
            # PyTorch makes a unit in full precision of each.
            raise NotImplementedError(
                "torchlike does not support auto_wrap_policy with mixed precision for modules of the classes "
                f"{[each.__name__ for each in classes]} yet"
            )
        auto_wrap(module, policy, FullyShardedDataParallel, ignored, kwargs)

    def _synchronize(self, module: Module, excluded: set[int]) -> None:
        own = [p for p in module.parameters() if id(p) not in excluded and getattr(p, "_is_chunk", False) is False]
        source = self.process_group.global_rank(0)
        for each in [*own, *module.buffers()]:
            broadcast(each.detach(), source, self.process_group)
        if self._copies is not None:
            for each in [*own, *module.buffers()]:
                broadcast(each.detach(), self._copies.global_rank(0), self._copies)

    def _make_handle(self, module: Module, excluded: set[int]) -> FlatParamHandle | None:
        owners: dict[int, list[tuple[Module, str]]] = {}
        parameters: dict[int, Parameter] = {}
        names: dict[int, str] = {}
        for path, owner in _unit_modules(module, ""):
            for name, parameter in owner._parameters.items():
                if parameter is None or id(parameter) in excluded:
                    continue
                owners.setdefault(id(parameter), []).append((owner, name))
                parameters[id(parameter)] = parameter
                names.setdefault(id(parameter), path + name)
        if not parameters:
            return None
        if self.cpu_offload.offload_params and any(each.device.type != "cpu" for each in parameters.values()):
            raise NotImplementedError("torchlike does not support CPUOffload(offload_params=True) of accelerators yet")
        is_spread = self.sharding_strategy is not ShardingStrategy.NO_SHARD
        handle = FlatParamHandle(
            list(owners.values()),
            list(parameters.values()),
            list(names.values()),
            self.process_group,
            self._copies,
            self.process_group.size() if is_spread else 1,
            self._use_orig_params,
            self.mixed_precision,
        )
        if not self._use_orig_params:
            module.register_parameter(FLAT, handle.leaves[0])
        for leaf in handle.leaves:
            leaf._is_chunk = True
        return handle

    # ---- what it shows

    @property
    def module(self) -> Any:
        """The module that is wrapped."""
        inner = self._modules[INNER]
        return inner.module if isinstance(inner, ActivationWrapper) else inner

    @property
    def _has_params(self) -> bool:
        return self._handle is not None

    @property
    def _flat_param(self) -> Any:
        return None if self._handle is None or self._use_orig_params else self._handle.leaves[0]

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("_modules", INNER) or INNER not in self.__dict__.get("_modules", ()):
                raise
            return getattr(self._modules[INNER], name)

    def __getitem__(self, key: Any) -> Any:
        inner: Any = self.module
        return inner[key]

    def check_is_root(self) -> bool:
        """Whether this is the outermost of these modules."""
        self._find_root()
        return bool(self._is_root)

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The modules of this class in a module, or the outermost of them."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return [each for each in found if each.check_is_root()] if root_only else found

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """As of any module; in ``summon_full_params`` with the names that the parameters have without wrappers."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (clean(name) if self._stacks else name), parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """As of any module; in ``summon_full_params`` with the names that the buffers have without wrappers."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (clean(name) if self._stacks else name), buffer

    def apply(self, fn: Callable[[Module], None]) -> Any:
        """Calls a function with each submodule and with the module, all of which have whole parameters meanwhile."""
        if self._stacks:
            return super().apply(fn)
        with self.summon_full_params(self):
            return super().apply(fn)

    # ---- a step

    def _find_root(self) -> None:
        if self._is_root is not None:
            return
        self._is_root = True
        for each in self.modules():
            if each is not self and isinstance(each, FullyShardedDataParallel):
                each._is_root = False
        dtype = self.mixed_precision.buffer_dtype
        if dtype is not None:
            for each in self.modules():
                for name, buffer in each._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        each._buffers[name] = buffer.to(dtype)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self._find_root()
        inner, handle, precision = self._modules[INNER], self._handle, self.mixed_precision
        assert inner is not None
        casts = precision.cast_root_forward_inputs if self._is_root else precision.cast_forward_inputs
        if precision.param_dtype is not None and casts:
            args, kwargs = tree_map(lambda each: _cast(each, precision.param_dtype), (args, kwargs))
        if handle is None or handle.wholes_in_use:
            return inner(*args, **kwargs)
        strategy = HYBRID.get(self.sharding_strategy, self.sharding_strategy)
        # The backward pass begins with the outermost module's own parameters, so these are kept, as in PyTorch.
        with handle.gathered(strategy is ShardingStrategy.FULL_SHARD and not self._is_root):
            return inner(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context whose backward passes only add up whole gradients; the next one outside of it reduces them.

        Raises:
            RuntimeError: this is not the outermost module.
        """
        if not self.check_is_root():
            raise RuntimeError(
                "`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP module."
            )
        handles = [each._handle for each in self.fsdp_modules(self) if each._handle is not None]
        before = [handle.synchronised for handle in handles]
        for handle in handles:
            handle.synchronised = False
        try:
            yield
        finally:
            for handle, value in zip(handles, before, strict=True):
                handle.synchronised = value

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales the gradients of all parameters so that their norm is at most ``max_norm``, and returns the norm that they had.

        Raises:
            RuntimeError: this is not the outermost module.

        Source: https://docs.pytorch.org/docs/stable/fsdp.html
        """
        if not self.check_is_root():
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        norm_type = float(norm_type)
        spread = {
            id(leaf): each.process_group
            for each in self.fsdp_modules(self)
            if each._handle is not None and each._handle.layout.shards > 1
            for leaf in each._handle.leaves
        }
        with no_grad():
            parameters = [p for p in self.parameters() if p.grad is not None]
            parts = _power([p.grad for p in parameters if id(p) in spread], norm_type)
            total: Any = _power([p.grad for p in parameters if id(p) not in spread], norm_type)
            if self.process_group.size() > 1 and spread:
                all_reduce(parts, ReduceOp.MAX if norm_type == float("inf") else ReduceOp.SUM, self.process_group)
            if norm_type == float("inf"):
                total = total.maximum(parts)
            else:
                total = (total + parts) ** (1.0 / norm_type)
            factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
            for parameter in parameters:
                grad: Any = parameter.grad
                grad.mul_(factor.to(grad.dtype))
            dtypes = {parameter.grad.dtype for parameter in parameters}  # pyright: ignore[reportOptionalMemberAccess]
            return total.to(dtypes.pop()) if len(dtypes) == 1 else total

    def register_comm_hook(self, state: object, hook: object) -> NoReturn:
        """Not supported: always NotImplementedError."""
        raise NotImplementedError("torchlike does not support FullyShardedDataParallel.register_comm_hook yet")

    # ---- whole parameters

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context in which modules have whole parameters, under their own names.

        Args:
            recurse: also for the submodules.
            writeback: whether what is written to them remains.
            rank0_only: only in process 0.
            offload_to_cpu: whether they are on the host.
            with_grads: not supported.

        Source: https://docs.pytorch.org/docs/stable/fsdp.html
        """
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        if with_grads:
            raise NotImplementedError("torchlike does not support summon_full_params(with_grads=True) yet")
        units = FullyShardedDataParallel.fsdp_modules(module) if recurse else [module]
        with ExitStack() as all_of_them:
            for unit in units:
                if isinstance(unit, FullyShardedDataParallel):
                    all_of_them.enter_context(unit._summoned(writeback, rank0_only))
            yield

    @contextmanager
    def _summoned(self, write: bool, rank0_only: bool = False) -> Iterator[None]:
        handle = self._handle
        self._find_root()
        if handle is not None and handle.wholes_in_use:
            raise AssertionError("Cannot manually unshard parameters during forward/backward")
        if rank0_only and self.process_group.rank() != 0:
            if handle is not None:
                handle.wholes([handle.chunk()], cast=False)  # process 0 needs this process's chunk
            yield
            return
        stack_of_own = ExitStack()
        self._stacks.append(stack_of_own)
        if handle is not None:
            handle.unshard()
            if not handle.original:
                self._modules[INNER]._parameters.pop(FLAT)  # pyright: ignore[reportOptionalMemberAccess]
        try:
            yield
        finally:
            self._stacks.remove(stack_of_own)
            if handle is not None:
                handle.reshard(write)
                if not handle.original:
                    self._modules[INNER].register_parameter(FLAT, handle.leaves[0])  # pyright: ignore[reportOptionalMemberAccess]

    # ---- state dictionaries

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Sets what ``state_dict`` of these modules returns, and gives back the settings from before.

        Raises:
            NotImplementedError: another kind than ``FULL_STATE_DICT``. RuntimeError: options of another kind.
        """
        if state_dict_type is not StateDictType.FULL_STATE_DICT:
            raise NotImplementedError(f"torchlike does not support {state_dict_type} of FullyShardedDataParallel yet")
        state_dict_config = state_dict_config or FullStateDictConfig()
        optim_state_dict_config = optim_state_dict_config or FullOptimStateDictConfig()
        for kind, config in (
            (FullStateDictConfig, state_dict_config),
            (FullOptimStateDictConfig, optim_state_dict_config),
        ):
            if type(config) is not kind:
                raise RuntimeError(
                    f"Expected {'optim_' if kind is FullOptimStateDictConfig else ''}state_dict_config of type {kind} but got "
                    f"{type(config)}"
                )
        settings = StateDictSettings(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The settings that ``set_state_dict_type`` has made."""
        units = FullyShardedDataParallel.fsdp_modules(module)
        if not units:
            return StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        return units[0]._settings

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """A context with the settings of ``set_state_dict_type``."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    @staticmethod
    def optim_state_dict(
        model: Module,
        optim: object,
        optim_state_dict: dict[str, object] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, object]:
        """The state of an optimizer for whole parameters, by their names without wrappers. All processes call it.

        Args:
            model: the outermost module, to whose parameters the optimizer belongs.
            optim: the optimizer.
            optim_state_dict: what ``optim.state_dict()`` has returned, where that was changed.

        Source: https://docs.pytorch.org/docs/stable/fsdp.html
        """
        config = FullyShardedDataParallel.get_state_dict_type(model).optim_state_dict_config
        return whole_state(model, optim, optim_state_dict, group_of(group), _only_first(config))

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: object,
        optim_state_dict: dict[str, object],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, object]:
        """What ``optim.load_state_dict`` of this process takes, made of what ``optim_state_dict`` has returned.

        Args:
            load_directly: also call ``optim.load_state_dict``.
        """
        if is_named_optimizer:
            raise NotImplementedError(
                "torchlike does not support optim_state_dict_to_load(is_named_optimizer=True) yet"
            )
        config = FullyShardedDataParallel.get_state_dict_type(model).optim_state_dict_config
        found = loadable_state(model, optim, optim_state_dict, group_of(group), _only_first(config))
        if load_directly:
            optimizer: Any = optim
            optimizer.load_state_dict(found)
        return found

    @staticmethod
    def full_optim_state_dict(
        model: Module,
        optim: object,
        optim_input: object = None,
        rank0_only: bool = True,
        group: ProcessGroup | None = None,
    ) -> dict[str, object]:
        """The older form of ``optim_state_dict``."""
        return whole_state(model, optim, None, group_of(group), rank0_only)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, object], model: Module, optim_input: object = None, optim: object = None
    ) -> dict[str, object]:
        """The older form of ``optim_state_dict_to_load``."""
        if optim is None:
            raise NotImplementedError("torchlike does not support shard_full_optim_state_dict without an optimizer yet")
        return loadable_state(model, optim, full_optim_state_dict, group_of(None), False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, object] | None,
        model: Module,
        optim_input: object = None,
        optim: object = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, object]:
        """As ``shard_full_optim_state_dict``, of what process 0 has."""
        if optim is None:
            raise NotImplementedError(
                "torchlike does not support scatter_full_optim_state_dict without an optimizer yet"
            )
        return loadable_state(model, optim, full_optim_state_dict or {}, group_of(group), True)


def _only_first(config: OptimStateDictConfig) -> bool:
    return isinstance(config, FullOptimStateDictConfig) and config.rank0_only


def _unsupported(name: str) -> Callable[..., NoReturn]:
    def method(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"torchlike does not support FullyShardedDataParallel.{name} yet")

    method.__name__, method.__doc__ = name, "Not supported: always NotImplementedError."
    return method


for _name in ("flatten_sharded_optim_state_dict", "rekey_optim_state_dict", "sharded_optim_state_dict"):
    setattr(FullyShardedDataParallel, _name, staticmethod(_unsupported(_name)))


# ---- the hooks by which state dictionaries have whole parameters under their own names


def _before_saving(module: FullyShardedDataParallel, prefix: str, keep_vars: bool) -> None:
    config = module._settings.state_dict_config
    first_only = isinstance(config, FullStateDictConfig) and config.rank0_only
    own = ExitStack()
    if module._handle is None or not module._handle.wholes_in_use:
        own.enter_context(module._summoned(False))
    module._saving = own, first_only and module.process_group.rank() != 0


def _after_saving(
    module: FullyShardedDataParallel, destination: dict[str, object], prefix: str, metadata: object
) -> dict[str, object]:
    own, drops = module._saving
    own.close()
    inner = f"{prefix}{INNER}."
    for name in [name for name in destination if name.startswith(inner)]:
        value = destination.pop(name)
        if not drops:
            destination[prefix + name[len(inner) :]] = value
    if drops:
        for name in [name for name in destination if name.startswith(prefix)]:
            del destination[name]
    return destination


def _before_loading(
    module: FullyShardedDataParallel,
    state: dict[str, object],
    prefix: str,
    metadata: object,
    strict: bool,
    missing: object,
    unexpected: object,
    errors: object,
) -> None:
    for name in [name for name in state if name.startswith(prefix)]:
        state[f"{prefix}{INNER}.{name[len(prefix) :]}"] = state.pop(name)
    module._loading = ExitStack()
    if module._handle is None or not module._handle.wholes_in_use:
        module._loading.enter_context(module._summoned(True))


def _after_loading(module: FullyShardedDataParallel, incompatible: object) -> None:
    module._loading.close()


# ---- construction


def _groups(
    process_group: object, mesh: DeviceMesh | None, strategy: ShardingStrategy
) -> tuple[ProcessGroup, ProcessGroup | None]:
    """The processes over which units are spread, and those between which gradients are averaged besides."""
    if mesh is not None:
        if process_group is not None:
            raise ValueError(
                "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
            )
        if strategy in HYBRID:
            if mesh.ndim != 2:
                raise ValueError(f"{strategy} requires a device_mesh of 2 dimensions, but got {mesh.ndim}")
            return mesh.get_group(1), mesh.get_group(0)
        if mesh.ndim != 1:
            raise ValueError(f"{strategy} requires a device_mesh of 1 dimension, but got {mesh.ndim}")
        return mesh.get_group(0), None
    if strategy in HYBRID:
        if process_group is None:
            return group_of(None), None  # all processes are on one machine, over which a unit is spread
        if isinstance(process_group, tuple) and len(process_group) == 2:
            return group_of(process_group[0]), group_of(process_group[1])
        raise ValueError(
            "Expected process_group to be passed in as either None, (intra_node_pg, inter_node_pg), or a ProcessGroup but got "
            f"{process_group}"
        )
    return group_of(process_group), None


def _ignored(
    module: Module, modules: Iterable[Module] | None, states: Iterable[object] | None
) -> tuple[set[Module], set[int]]:
    """The modules that stay as they are, and the parameters."""
    if modules is not None and states is not None:
        raise ValueError(
            "Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states."
        )
    given = list(modules or states or ())
    roots = [each for each in given if isinstance(each, Module)]
    within = {inner for each in roots for inner in each.modules()}
    parameters = {id(each) for each in given if isinstance(each, Tensor)}
    parameters |= {id(parameter) for each in roots for parameter in each.parameters()}
    if module in within:
        parameters |= {id(parameter) for parameter in module.parameters()}
    return within, parameters


def _unit_modules(module: Module, path: str) -> Iterator[tuple[str, Module]]:
    """A module and its submodules, with their paths, without those that are wrapped themselves."""
    yield path, module
    for name, child in module._modules.items():
        if child is not None and not isinstance(child, FullyShardedDataParallel):
            yield from _unit_modules(child, f"{path}{name}.")


def _materialize(module: Module, fill: Callable[[Module], None] | None) -> None:
    for _, each in _unit_modules(module, ""):
        if not any(p is not None and p.is_meta for p in (*each._parameters.values(), *each._buffers.values())):
            continue
        if fill is not None:
            fill(each)
        else:
            each.to_empty(device="cpu", recurse=False)
            with no_grad():
                each.reset_parameters()


def _cast(value: object, dtype: dtype | None) -> object:
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value  # pyright: ignore[reportAttributeAccessIssue]


def _power(grads: list[Any], norm_type: float) -> Tensor:
    """The sum of the powers of the elements of gradients, or the largest, in float32 at least."""
    if not grads:
        return tensor(0.0)
    norms = [grad.float().norm(norm_type) for grad in grads]
    joined: Any = stack(norms)
    return joined.max() if norm_type == float("inf") else (joined**norm_type).sum()
