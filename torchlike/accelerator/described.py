"""Asks XLA's compiler what a program would do on chips that this machine does not have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..engine import Placement, described as engine, forget
from ..engine.described import Description
from ..random_streams import rng

__all__ = ["compiled_for"]


@contextmanager
def compiled_for(device: str) -> Iterator[Description]:
    """Within it, a TPU that is only described takes the place of this machine's: programs are compiled for it, and nothing runs.

    A training loop is asked as it stands, with its tensors on the device "tpu"; three steps are enough. Each program of it is then
    found in ``programs``, with its arithmetic, memory, exchanges between chips, and the compiler's own estimate of its time. What is
    read there, such as a loss, is zero. It needs the package libtpu (``pip install libtpu``), and no TPU.

    Args:
        device: the platform and libtpu's name of a topology, such as "tpu:v5e:2x2" or "tpu:v5p:4x4x4". A single chip is used unless
            the program makes a mesh of devices.

    Yields:
        what the compiler says; printed, a few lines for each program.

    Raises:
        ValueError: the device is not of this form, or libtpu knows no such topology.
        RuntimeError: libtpu is not installed, or the process has used TPUs of its own before.

    >>> with torchlike.compiled_for("tpu:v5e:2x2") as compiled:  # doctest: +SKIP
    ...     model = torchlike.nn.Linear(1024, 1024).to("tpu")
    ...     for _ in range(3):
    ...         loss = model(torchlike.randn(64, 1024, device="tpu")).square().mean()
    ...         loss.backward()
    ...         print(loss.item())
    >>> print(compiled)  # doctest: +SKIP

    Source: https://docs.jax.dev/en/latest/aot.html
    """
    platform, _, topology = device.partition(":")
    if platform != "tpu" or not topology:
        raise ValueError(f"expected a platform and a topology, such as 'tpu:v5e:2x2', but got {device!r}")
    if any(place.platform == platform and "device" in vars(place) for place in Placement.all()):
        raise RuntimeError("this process has used TPUs of its own, so no others can be described in it")
    chips = _chips(topology)
    forget()
    description = engine.begin(platform, chips)
    try:
        yield description
        forget()  # what is recorded still is compiled, too
    finally:
        try:
            forget()
        finally:
            for place in [each for each in rng.of_accelerators if getattr(each, "platform", None) == platform]:
                del rng.of_accelerators[place]
            engine.end()


def _chips(topology: str) -> list[Any]:
    """The devices of a topology, as libtpu describes them."""
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # libtpu would ask a machine of Google's for its chips
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # any number of processes may compile
    try:
        import libtpu  # noqa: F401  # pyright: ignore[reportMissingImports]  # JAX looks for it when it is asked for TPUs
    except ImportError:
        raise RuntimeError("compiling for a TPU needs its compiler: pip install libtpu") from None
    from jax.experimental import topologies

    try:
        return list(topologies.get_topology_desc(topology, "tpu").devices)
    except Exception as error:
        raise ValueError(f"libtpu knows no topology {topology!r}: {str(error).splitlines()[0]}") from None
