"""Joins the other processes: starts the hub, makes the devices of all visible to JAX, and connects to the hub."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import gc
import os
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jaxlib
import numpy as np
from jax._src import distributed as jax_distributed, xla_bridge
from jax.core import Tracer

from ..engine import checks, kernel
from ..engine.aval import Aval, Placement, started
from ..engine.recorder import forget
from ..engine.value import Value
from ._control import Control, start_hub
from ._stores import Store

# JAX's service is only used for addresses. The hub knows from its connections whether processes live.
NEVER = 10_000_000


class World(NamedTuple):
    """The other processes, as this process sees them. It lives as long as the process."""

    rank: int
    size: int
    control: Control
    devices: list[Any]  # JAX's devices, one for each process


_world: list[World] = []


def join(store: Store, rank: int, size: int) -> World:
    """Joins the other processes by the store. A second call returns the world that the first one made.

    Raises:
        NotImplementedError: another number of processes, or another rank, than before.
    """
    if _world:
        if (_world[0].rank, _world[0].size) != (rank, size):
            raise NotImplementedError(
                "torchlike does not support a second process group of another rank or size in the same process yet: "
                f"rank {rank} of {size}, and before rank {_world[0].rank} of {_world[0].size}"
            )
        return _world[0]
    if rank == 0:
        hub, service = start_hub(size)
        store.set("hub", f"{_own_host(store)} {hub} {service}")
    host, hub_port, service_port = store.get("hub").decode().split()
    control = Control(host, int(hub_port), rank)
    world = World(rank, size, control, _see_devices(f"{host}:{service_port}", rank, size, control.own_host()))
    _world.append(world)
    return world


def _own_host(store: Store) -> str:
    """Returns the address of rank 0's host, on which this runs: the address by which the processes reach the store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store  # type: ignore[attr-defined]
    host = getattr(store, "host", None) or os.environ.get("MASTER_ADDR")
    return str(host) if host and host != "localhost" else "127.0.0.1"


def _see_devices(address: str, rank: int, size: int, own_host: str) -> list[Any]:
    # JAX makes its devices once, so they are dropped and made again with those of all processes. Values are moved to the host first.
    _leave_devices()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    state = jax_distributed.global_state
    service: ModuleType = jaxlib._jax  # pyright: ignore[reportAttributeAccessIssue]
    client = service.get_distributed_runtime_client(
        address, rank, init_timeout=300, heartbeat_timeout=NEVER, shutdown_on_destruction=False, use_compression=True
    )
    client.connect()
    state.client, state.process_id, state.num_processes = client, rank, size
    state.coordinator_address = address
    _exchange_by(own_host)
    devices: dict[int, Any] = {}
    for device in jax.devices("cpu"):
        # A process may have several devices (``jax_num_cpu_devices``). Collectives use the first of each.
        devices.setdefault(device.process_index, device)

    @atexit.register
    def forget() -> None:
        # At exit JAX would wait until all processes exit and all devices are idle. That never happens if a process has failed. So JAX
        # is left nothing to shut down: the operating system frees everything when the process ends.
        state.client = None
        for backend in (client, *xla_bridge._backends.values()):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(backend))
        xla_bridge._default_backend = None

    return [devices[i] for i in range(size)]


def _exchange_by(host: str) -> None:
    """Has the devices of other processes reach those of this one at an address of the network in which the processes meet.

    By default gloo says where it is by the name of the machine, which often means 127.0.0.1 there, or an address of another network.
    """

    def client() -> Any:
        exchanges: ModuleType = jaxlib._jax  # pyright: ignore[reportAttributeAccessIssue]
        interface = os.environ.get("GLOO_SOCKET_IFNAME")  # PyTorch's variable
        where = {"interface": interface} if interface else {"hostname": host}
        collectives = exchanges.make_gloo_tcp_collectives(jax_distributed.global_state.client, **where)
        return xla_bridge.make_cpu_client(collectives=collectives)

    registered = xla_bridge._backend_factories["cpu"]
    xla_bridge._backend_factories["cpu"] = dataclasses.replace(registered, factory=client)


def _leave_devices() -> None:
    """Moves every value to the host, and drops all devices and what was compiled for them. Does nothing where JAX has not started.

    JAX arrays that the program itself holds stay on the old devices.
    """
    forget()
    if not started():
        return
    checks.raise_failed()
    arrays: dict[int, Any] = {}
    for value in [candidate for candidate in gc.get_objects() if isinstance(candidate, Value)]:
        array = getattr(value, "array", None)
        if isinstance(array, jax.Array) and not isinstance(array, Tracer):
            if id(array) not in arrays:
                arrays[id(array)] = array, np.array(array)
            value.array, value.pinned = arrays[id(array)][1], False
    for reference in kernel.with_executable():
        candidate = reference()
        if candidate is not None:
            candidate.drop_executable()
    for placement in Placement.all():
        placement.forget_device()
    for aval in Aval.all():
        aval.sds = None
    from jax.extend.backend import clear_backends

    clear_backends()
