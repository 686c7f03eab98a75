"""torch.distributed.rpc: remote calls, supported in a world of one process, which can only call itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ..._core.annotations import DeviceLike
from ...futures import Future

__all__ = [
    "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo", "get_worker_info", "init_rpc", "is_available", "remote",
    "rpc_async", "rpc_sync", "shutdown",
]  # fmt: skip

T = TypeVar("T")


class WorkerInfo(NamedTuple):
    """A process: its name and number."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class RpcBackendOptions:
    """The timeout of calls and the address where processes meet. Both have no effect in a world of one process."""

    def __init__(self, rpc_timeout: float = 60.0, init_method: str = "env://") -> None:
        self.rpc_timeout, self.init_method = rpc_timeout, init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The options of PyTorch's usual backend."""

    def __init__(
        self,
        *,
        num_worker_threads: int = 16,
        rpc_timeout: float = 60.0,
        init_method: str = "env://",
        device_maps: dict[str, Any] | None = None,
        devices: Sequence[DeviceLike] | None = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        self.num_worker_threads, self.device_maps, self.devices = num_worker_threads, device_maps or {}, devices or []

    def set_device_map(self, to: str, device_map: dict[DeviceLike, DeviceLike]) -> None:
        """Sets the devices on which tensors arrive at another process."""
        self.device_maps.setdefault(to, {}).update(device_map)

    def set_devices(self, devices: Sequence[DeviceLike]) -> None:
        """Sets the devices that are used."""
        self.devices = list(devices)


class _World:
    worker: WorkerInfo | None = None


def is_available() -> bool:
    """Whether there is this package: yes."""
    return True


def init_rpc(
    name: str, backend: object = None, rank: int = -1, world_size: int | None = None, rpc_backend_options: object = None
) -> None:
    """Names this process, and starts to accept calls.

    Raises:
        NotImplementedError: there are several processes.
    """
    if world_size is not None and world_size > 1:
        raise NotImplementedError(
            f"torchlike does not support torch.distributed.rpc with several processes yet: world_size is {world_size}"
        )
    if _World.worker is not None:
        raise RuntimeError("RPC is already initialized")
    _World.worker = WorkerInfo(name, max(rank, 0))


def shutdown(graceful: bool = True, timeout: float = 0) -> None:
    """Stops accepting calls."""
    _me()
    _World.worker = None


def _me() -> WorkerInfo:
    if _World.worker is None:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
    return _World.worker


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """Returns the process with a name; this process if no name is given."""
    return _me() if worker_name is None else _worker_named(worker_name)


def _worker_named(to: str | int | WorkerInfo) -> WorkerInfo:
    mine = _me()
    if to not in (mine, mine.name, mine.id):
        raise RuntimeError(f"name:{mine.name},rank:{mine.id} could not find destination name {to}")
    return mine


def rpc_sync(
    to: str | int | WorkerInfo,
    func: Callable[..., object],
    args: Sequence[object] | None = None,
    kwargs: Any = None,
    timeout: float = -1.0,
) -> Any:
    """Calls a function in a process, and returns what it returns.

    Raises:
        RuntimeError: there is no process of this name.
    """
    _worker_named(to)
    return func(*(args or ()), **(kwargs or {}))


def rpc_async(
    to: str | int | WorkerInfo,
    func: Callable[..., object],
    args: Sequence[object] | None = None,
    kwargs: Any = None,
    timeout: float = -1.0,
) -> Future[Any]:
    """Calls a function in a process. Returns a future of its result."""
    future: Future[Any] = Future()
    _worker_named(to)
    try:
        future.set_result(func(*(args or ()), **(kwargs or {})))
    except Exception as error:
        future.set_exception(error)
    return future


class RRef(Generic[T]):
    """A reference to an object in a process, which is always this process."""

    def __init__(self, value: T, type_hint: object = None) -> None:
        self._owner, self._value = _me(), value

    def owner(self) -> WorkerInfo:
        """The process that has it."""
        return self._owner

    def owner_name(self) -> str:
        """The name of the process that has it."""
        return self._owner.name

    def is_owner(self) -> bool:
        """Whether this process has it: yes."""
        return True

    def confirmed_by_owner(self) -> bool:
        """Whether the owner knows of the reference: yes."""
        return True

    def local_value(self) -> T:
        """The object, in its own process."""
        return self._value

    def to_here(self, timeout: float = -1.0) -> T:
        """The object, copied to this process if it is in another."""
        return self._value

    def rpc_sync(self, timeout: float = -1.0) -> T:
        """Returns the object, so that its methods can be called."""
        return self._value

    def rpc_async(self, timeout: float = -1.0) -> _Methods:
        """Returns a proxy with the object's methods, which return futures."""
        return _Methods(self, rpc_async)

    def remote(self, timeout: float = -1.0) -> _Methods:
        """Returns a proxy with the object's methods, which return references."""
        return _Methods(self, remote)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Runs the backward pass from the tensor that it refers to."""
        tensor: Any = self._value
        tensor.backward(retain_graph=retain_graph)


class _Methods:
    def __init__(self, reference: RRef[Any], call: Callable[..., object]) -> None:
        self._reference, self._call = reference, call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._reference.local_value(), name)
        return lambda *args, **kwargs: self._call(self._reference.owner_name(), method, args, kwargs)


def remote(
    to: str | int | WorkerInfo,
    func: Callable[..., object],
    args: Sequence[object] | None = None,
    kwargs: object = None,
    timeout: float = -1.0,
) -> RRef[Any]:
    """Calls a function in a process. The result stays there; returns a reference to it."""
    return RRef(rpc_sync(to, func, args, kwargs))
