"""DistributedDataParallel: wraps a module, and averages its gradients over all processes."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._core.devices import device
from ..._core.fields import grad_of, is_whole_storage, set_grad, storage_of, version_of, write_value
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ...autograd.engine import after_backward
from ...autograd.grad_mode import no_grad
from ...distributed._buckets import GradBucket
from ...distributed._collectives import ALL_REDUCE, BROADCAST, record
from ...distributed._groups import ProcessGroup, ReduceOp, group_of
from ...distributed._objects import objects_of_all
from ...distributed._tensors import all_reduce
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...engine.value import Value
from ...futures import Future
from ...ops.creation.from_data import tensor
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

BUCKET_MB = 25.0

_NOT_FINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has "
    "parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
    "participate in calculating loss. \nIf you already have done the above, then the distributed data parallel module wasn't able to "
    "locate the output tensors in the return value of your module's `forward` function. Please include the loss function and the "
    "structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\n"
    "Parameter indices which did not receive grad for rank {rank}: {indices}\n In addition, you can set the environment variable "
    "TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information about which particular parameters did not receive "
    "gradient on this rank as part of this error"
)


class DistributedDataParallel(Module, Joinable):
    """Calls a module on this process's part of a batch; ``backward`` averages gradients over all processes.

    When it is made, all processes receive the parameters and buffers of process 0. After a backward pass, gradients are flattened into
    buckets of one dtype, and each bucket is reduced in one exchange. Names in its state begin with "module.", as in PyTorch.

    Args:
        module: the module to call.
        device_ids: at most one device; None on the CPU.
        broadcast_buffers: whether all processes receive the buffers of process 0 when it is made and before each forward pass.
        forward_sync_buffers: the same for forward passes alone.
        init_sync: whether all processes receive the parameters and buffers of process 0 when it is made.
        process_group: the processes (default: all).
        bucket_cap_mb: the size of a bucket, by default 25 MB.
        find_unused_parameters: whether parameters may be without a gradient in some processes.
        gradient_as_bucket_view: changes nothing here: XLA decides where gradients lie.
        static_graph: whether the same parameters are used in each step.

    Raises:
        ValueError: there is no process group. RuntimeError: no parameter of the module requires a gradient, or the parameters differ
            between processes. NotImplementedError: several devices.

    >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2, bias=False))
    >>> list(model.state_dict())
    ['module.weight']
    >>> torch.distributed.destroy_process_group()

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int] | None = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: object = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: object = None,
        param_to_hook_all_reduce: object = None,
        mixed_precision: object = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            process_group = device_mesh.get_group(mesh_dim=0)
        self.process_group: ProcessGroup = group_of(process_group)
        for name, argument in {
            "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
            "mixed_precision": mixed_precision,
            "bucket_cap_mb_list": bucket_cap_mb_list,
        }.items():
            if argument is not None:
                raise NotImplementedError(f"torchlike does not support DistributedDataParallel({name}=...) yet")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        parameters_by_name = [(name, parameter) for name, parameter in module.named_parameters() if name not in ignored]
        self._synchronised = [parameter for _, parameter in parameters_by_name if parameter.requires_grad]
        if not self._synchronised:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self._check_device_ids(device_ids, output_device)
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.device = self._synchronised[0].device
        self.parameters_to_ignore = ignored
        self.broadcast_buffers = broadcast_buffers is not False
        self.forward_sync_buffers = self.broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.bucket_bytes_cap = int((BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._hook: tuple[object, Callable[..., object]] | None = None
        self._divides_by_all = True  # in ``join``: by all processes, and not only by those that have not joined
        self._active: Any = None  # in ``join``: how many processes have not joined, as a tensor
        self._armed = False  # whether gradients are to be reduced after a backward pass
        self._before: list[Any] = []
        if init_sync and self.process_group.size() > 1:
            self._check_alike()
            self._broadcast(
                [
                    *(parameter for _, parameter in parameters_by_name),
                    *(self._buffers_to_sync() if self.broadcast_buffers else ()),
                ]
            )

    def _check_device_ids(self, device_ids: Sequence[int] | None, output_device: object) -> None:
        kinds = {parameter.device for parameter in self._synchronised}
        if (device_ids is not None or output_device is not None) and any(kind.type == "cpu" for kind in kinds):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU "
                f"modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {kinds}."
            )

    def _check_alike(self) -> None:
        shapes = [(tuple(parameter.shape), str(parameter.dtype)) for parameter in self._synchronised]
        for rank, others in enumerate(objects_of_all(self.process_group, shapes)):
            if len(others) != len(shapes):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {self.process_group.rank()} has {len(shapes)} params, "
                    f"while rank {rank} has inconsistent {len(others)} params."
                )
            for number, (own_shape, other_shape) in enumerate(zip(shapes, others, strict=True)):
                if own_shape != other_shape:
                    raise RuntimeError(
                        f"DDP expects same model across all ranks: params[{number}] in this process with sizes {list(own_shape[0])} and "
                        f"dtype {own_shape[1]} appears not to match sizes {list(other_shape[0])} and dtype {other_shape[1]} in rank {rank}."
                    )

    def _buffers_to_sync(self) -> list[Tensor]:
        return [buffer for name, buffer in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _broadcast(self, tensors: list[Tensor], source: int = 0) -> None:
        engine = self.process_group.engine
        if not tensors or engine is None:
            return
        values = record(BROADCAST, engine, (source,), [each._value() for each in tensors])
        for each, value in zip(tensors, values, strict=True):
            _set_value(each, value)

    # ---- a step

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        if self.process_group.size() > 1 or self._hook is not None:
            self._begin_step()
        return self.module(*inputs, **kwargs)

    def _begin_step(self) -> None:
        buffers = self._buffers_to_sync() if self.require_forward_param_sync and self.forward_sync_buffers else []
        self.require_forward_param_sync = modes.grad_enabled and self.require_backward_grad_sync
        if self._join_config.enable:
            work = Join.notify_join_context(self)
            self._active = None if work is None else work.result()[0]
            _total(self.process_group, [bool(buffers), self.require_forward_param_sync])
        self._broadcast(buffers, self._source(True) if buffers and self._join_config.enable else 0)
        if not self.require_forward_param_sync:
            return
        if self._armed:
            untouched = self._untouched()
            if untouched and len(untouched) < len(self._synchronised):
                raise RuntimeError(
                    _NOT_FINISHED.format(rank=self.process_group.rank(), indices=" ".join(map(str, untouched)))
                )
        self._before = [_mark(parameter) for parameter in self._synchronised]
        if not self._armed:
            self._armed = True
            # Weak, because the list of callbacks belongs to the thread, and would keep a model alive that the program has dropped.
            reference = weakref.WeakMethod(self._reduce_if_complete)

            def callback() -> None:
                reduce = reference()
                if reduce is None or reduce():
                    after_backward.callbacks.remove(callback)

            after_backward.callbacks.append(callback)

    def _untouched(self) -> list[int]:
        """Returns the numbers of the parameters whose gradient has not changed since the forward pass."""
        return [n for n, p in enumerate(self._synchronised) if _mark(p) == self._before[n]]

    def _reduce_if_complete(self) -> bool:
        """Reduces the gradients after a backward pass if it was one through this module. Returns whether it has done so."""
        untouched = self._untouched()
        if len(untouched) == len(self._synchronised):
            return False  # the backward pass did not go through this module
        if self.find_unused_parameters and not self.static_graph:
            self._reduce_with_unused(set(untouched))
        elif untouched and not self.static_graph:
            return False  # a later backward pass may compute the other gradients
        else:
            remaining = set(untouched)
            self._reduce([p for n, p in enumerate(self._synchronised) if n not in remaining])
        self._armed, self._before = False, []
        return True

    def _reduce_with_unused(self, untouched: set[int]) -> None:
        """Reduces gradients where parameters lack some. A missing gradient counts as zero; if all processes lack one, it stays None."""
        uses = self._count_uses(untouched)
        without = [n for n in untouched if grad_of(self._synchronised[n]) is None]
        for number in without:
            aval = self._synchronised[number]._aval
            # All processes must exchange the same arrays, so a missing gradient is sent as zeros.
            set_grad(self._synchronised[number], from_value(Value.full(aval.shape, aval.dtype, aval.placement)))
        self._reduce(self._synchronised)
        if without and uses is not None:
            counts = uses.numpy()
            for number in without:
                if counts[number] == 0:
                    set_grad(self._synchronised[number], None)

    def _count_uses(self, untouched: set[int]) -> Value | None:
        """How many processes have a gradient of each parameter; None where there is one process."""
        engine = self.process_group.engine
        if engine is None:
            return None
        flags = np.array([n not in untouched for n in range(len(self._synchronised))], np.int32)
        values = [Value.on_host(flags, self._synchronised[0]._aval.placement)]
        return record(ALL_REDUCE, engine, (ReduceOp.SUM,), values)[0]

    def _reduce(self, parameters: Sequence[Tensor], grads: list[Tensor] | None = None) -> None:
        """Averages the gradients of parameters, or other tensors like them, in buckets."""
        own: list[Any] = [grad_of(parameter) for parameter in parameters] if grads is None else grads
        by_grad = {id(grad): parameter for grad, parameter in zip(own, parameters, strict=True)}
        buckets = _buckets(own, self.bucket_bytes_cap)
        for number, bucket in enumerate(buckets):
            if self._hook is not None:
                is_last = number == len(buckets) - 1
                self._call_hook(GradBucket(number, is_last, [by_grad[id(grad)] for grad in bucket], bucket), bucket)
                continue
            engine = self.process_group.engine
            assert engine is not None
            op = ReduceOp.SUM if self._join_config.enable else ReduceOp.AVG
            values = record(ALL_REDUCE, engine, (op,), [grad._value() for grad in bucket])
            for grad, value in zip(bucket, values, strict=True):
                _set_value(grad, self._divided(value) if op is ReduceOp.SUM else value)

    def _divided(self, value: Value) -> Value:
        by_all = self._divides_by_all or self._active is None
        with no_grad():
            sums: Any = from_value(value)
            return (sums / (self.process_group.size() if by_all else self._active))._value()

    def _call_hook(self, bucket: GradBucket, grads: list[Tensor]) -> None:
        assert self._hook is not None
        state, hook = self._hook
        future = hook(state, bucket)
        if not isinstance(future, Future):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but got "
                f"{type(future).__name__}"
            )
        with no_grad():
            for grad, part in zip(grads, bucket.split(future.wait()), strict=True):
                grad.detach().copy_(part)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are not exchanged between processes. The next backward pass outside of it does that."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _set_static_graph(self) -> None:
        """The same as ``static_graph=True``."""
        self.static_graph = True

    def register_comm_hook(self, state: object, hook: Callable[..., object]) -> None:
        """Makes a function exchange the gradients: it gets ``state`` and a ``GradBucket``, and returns a future of their averages.

        Raises:
            TypeError: the hook is not callable. ValueError: its annotations are others. RuntimeError: there is one already.

        Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        annotation = signature.parameters["bucket"].annotation
        if annotation not in (inspect.Parameter.empty, GradBucket, "GradBucket", "dist.GradBucket"):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        returned = signature.return_annotation
        if returned is not inspect.Signature.empty and "Future" not in str(returned):
            raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = state, hook

    # ---- different numbers of batches

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context in which processes may have different numbers of batches.

        Args:
            divide_by_initial_world_size: whether gradients are divided by the number of all processes, and not only by that of those
                that still have batches.
            enable: False: the context does nothing.
            throw_on_early_termination: raise in all processes as soon as one has no batch left.

        Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.join
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: object) -> JoinHook:
        """What this process does when it has no batch left, and others have."""
        self._divides_by_all = bool(kwargs.get("divide_by_initial_world_size", True))
        return _Shadow(self)

    @property
    def join_device(self) -> device:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The processes."""
        return self.process_group

    def _source(self, takes_part: bool) -> int:
        """The number of a process that takes part: the last one."""
        number: Any = tensor([self.process_group.rank() if takes_part else -1])
        all_reduce(number, ReduceOp.MAX, self.process_group)
        return number.item()

    def _shadow_step(self) -> None:
        """Takes part in the exchanges of a step of the processes that still have batches."""
        with_buffers, with_gradients = _total(self.process_group, [False, False])
        if with_buffers:
            self._broadcast(self._buffers_to_sync(), self._source(False))
        if not with_gradients:
            return
        if self.find_unused_parameters and not self.static_graph:
            self._count_uses(set(range(len(self._synchronised))))
        nothing = [from_value(Value.full(p._aval.shape, p._aval.dtype, p._aval.placement)) for p in self._synchronised]
        self._reduce(self._synchronised, nothing)

    def _take_final(self, is_last: bool) -> None:
        """Gives all processes the parameters and buffers of one that has made all steps."""
        parameters = [p for name, p in self.module.named_parameters() if name not in self.parameters_to_ignore]
        self._broadcast([*parameters, *self._buffers_to_sync()], self._source(is_last))


class _Shadow(JoinHook):
    def __init__(self, model: DistributedDataParallel) -> None:
        self.model = model

    def main_hook(self) -> None:
        self.model._shadow_step()

    def post_hook(self, is_last_joiner: bool) -> None:
        self.model._take_final(is_last_joiner)


def _total(group: ProcessGroup, flags: list[bool]) -> list[int]:
    """In how many processes each flag is set."""
    counts: Any = tensor([int(flag) for flag in flags])
    all_reduce(counts, group=group)
    return counts.tolist()


def _mark(parameter: Any) -> tuple[int, int] | None:
    """Returns an identity and version of the gradient, which change when something is added to it."""
    grad = grad_of(parameter)
    return None if grad is None else (id(storage_of(grad)), version_of(grad))


def _buckets(grads: list[Any], cap: int) -> list[list[Any]]:
    """Gradients of one dtype, in PyTorch's order, which is from the last parameter to the first."""
    buckets: list[list[Any]] = []
    open_ones: dict[Any, tuple[list[Any], int]] = {}
    for grad in reversed(grads):
        aval = grad._aval
        bucket, size = open_ones.get(aval.dtype, ([], 0))
        if not bucket or size + aval.nbytes > cap:
            bucket, size = [], 0
            buckets.append(bucket)
        bucket.append(grad)
        open_ones[aval.dtype] = bucket, size + aval.nbytes
    return buckets


def _set_value(tensor: Tensor, value: Value) -> None:
    if is_whole_storage(tensor):
        write_value(tensor, value)
    else:
        tensor.detach().copy_(from_value(value))
