"""Compiles what is recorded for devices that this machine does not have, and runs nothing.

XLA's compiler for TPUs needs no TPU: libtpu describes the chips. While a description is in force its devices are those of their platform.
Values there have shapes and dtypes and no elements. Each program that would run is compiled, and what the compiler says of it is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from .aval import Aval, Placement, described_devices
from .report import user_line

# Instructions by which chips exchange arrays, as XLA names them, behind the types of what a chip has from them.
_COLLECTIVE = re.compile(
    r" *(?:ROOT )?%\S+ = (.+?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\("
)
_ARRAY = re.compile(r"\b[a-z]\w*\[[\d,]*\]")


@dataclass
class CompiledProgram:
    """What the compiler says of a program, for one device.

    Attributes:
        line: the line of the user's at which it runs.
        runs: how often it would have run so far.
        flops: operations on numbers. ``bytes_accessed``: what it reads from the device's memory and writes there.
        seconds: the compiler's own estimate of the time, to be believed for less than a second.
        argument_bytes: parameters, state and batch. ``output_bytes``: results. ``donated_bytes``: of these, what lies where arguments lay.
        temporary_bytes: what it needs besides.
        host_bytes: what its last run read from the host's memory.
        collectives: how many exchanges between chips it has, by kind.
        exchanges: their kinds, each with the arrays that a chip has from it, such as "bf16[16,1024]".
    """

    line: str
    flops: float
    bytes_accessed: float
    seconds: float
    argument_bytes: int
    output_bytes: int
    donated_bytes: int
    temporary_bytes: int
    collectives: Counter[str] = field(default_factory=Counter)
    host_bytes: int = 0
    runs: int = 0
    exchanges: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def peak_bytes(self) -> int:
        """The memory of the device that a run needs."""
        return self.argument_bytes + self.output_bytes - self.donated_bytes + self.temporary_bytes


class Description:
    """Devices of a platform, and the programs that were compiled for them."""

    def __init__(self, platform: str, devices: Sequence[Any]) -> None:
        self.platform, self.devices = platform, list(devices)
        self.programs: list[CompiledProgram] = []
        self.host_bytes = 0  # copied to the devices since the last program ran

    def __str__(self) -> str:
        kind = self.devices[0].device_kind
        lines = [f"{len(self.devices)} x {kind}: compiled, not run"]
        for program in self.programs:
            exchanges = ", ".join(f"{count} {name}" for name, count in sorted(program.collectives.items()))
            lines += [
                f"  {program.line}",
                f"    {program.flops / 1e9:,.2f} GFLOP, {program.bytes_accessed / 1e9:,.3f} GB read and written, "
                f"{1e3 * program.seconds:,.3f} ms by the compiler's estimate; {program.runs} runs",
                f"    memory {program.peak_bytes / 1e6:,.1f} MB: arguments {program.argument_bytes / 1e6:,.1f}, outputs "
                f"{program.output_bytes / 1e6:,.1f} of which {program.donated_bytes / 1e6:,.1f} over arguments, temporaries "
                f"{program.temporary_bytes / 1e6:,.1f}; {program.host_bytes:,} bytes from the host",
                *([f"    exchanges: {exchanges}"] if exchanges else []),
            ]
        return "\n".join(lines)


class _InForce:
    description: Description | None = None


def begin(platform: str, devices: Sequence[Any]) -> Description:
    """Has these devices, of which only a description exists, stand for their platform."""
    if _InForce.description is not None:
        raise RuntimeError(
            f"devices of the platform {_InForce.description.platform} are being described; one description ends before the next begins"
        )
    here = _InForce.description = Description(platform, devices)
    described_devices[platform] = here.devices
    return here


def end() -> None:
    """The platform has its own devices again. Values on the described ones can be read no more."""
    _InForce.description = None
    for placement in Placement.all():
        if placement.described:
            placement.forget_device()
    for aval in Aval.all():
        if aval.placement.described:
            aval.sds = None
    described_devices.clear()


class Absent:
    """Stands for an array on a described device. Who reads it is given zeros: a loop may print its loss."""

    __slots__ = ("shape", "dtype", "nbytes", "sharding", "_description")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, sharding: Any) -> None:
        self.shape, self.dtype, self.sharding = shape, dtype, sharding
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self._description = _InForce.description

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self._description is not _InForce.description:
            raise RuntimeError(
                "this tensor lay on a described device, and the description has ended: it has no elements"
            )
        return np.zeros(self.shape, self.dtype if dtype is None else dtype)

    def is_ready(self) -> bool:
        return True

    def is_deleted(self) -> bool:
        return False

    def block_until_ready(self) -> Absent:
        return self

    def copy_to_host_async(self) -> None:
        """There is nothing to copy."""

    def devices(self) -> set[Any]:
        return set(self.sharding.device_set)


def sent(array: np.ndarray, placement: Placement) -> Absent:
    """Stands for the copy of a host array on a described device."""
    assert _InForce.description is not None
    _InForce.description.host_bytes += array.nbytes
    return Absent(placement.stored(array.shape), array.dtype, placement.sharding)


# What the engine holds of arrays that are not on the host.
ON_DEVICE = (jax.Array, Absent)


class NotRun:
    """An executable for a described device. It runs nothing; ``program`` is what it counts its runs in, if it was compiled."""

    calls_python = False
    entry = parts = None
    bytes_needed = bytes_within = 0

    def __init__(self, outs: Sequence[Absent], program: CompiledProgram | None = None) -> None:
        self._outs, self._program = tuple(outs), program

    def outputs(self, arrays: Sequence[object]) -> Iterator[Absent]:
        here = _InForce.description
        if self._program is not None and here is not None:
            self._program.runs += 1
            self._program.host_bytes, here.host_bytes = here.host_bytes, 0
        return iter([Absent(out.shape, out.dtype, out.sharding) for out in self._outs])

    def outputs_of(self, runs: Sequence[Sequence[object]]) -> Iterator[Absent]:
        return iter([out for arrays in runs for out in self.outputs(arrays)])

    def ran(self, output: object) -> None:
        """There is no memory to wait for."""

    def reserve(self) -> None:
        """The device has the memory that the compiler says."""

    def __call__(self, arrays: Sequence[object]) -> list[Absent]:
        return list(self.outputs(arrays))


def not_run(out_avals: Sequence[Aval], verdicts: int) -> NotRun:
    """The executable of one op, which is not compiled by itself. ``verdicts``: how many more outputs say whether an index was in range."""
    where = out_avals[0].placement
    avals = (*out_avals, *[Aval((2,), np.dtype(np.int64), where)] * verdicts)
    return NotRun([Absent(aval.shape, aval.dtype, where.sharding) for aval in avals])


def noted(compiled: Any) -> NotRun:
    """The executable of what was compiled for a described device. What the compiler says of it is kept."""
    here = _InForce.description
    assert here is not None
    costs: dict[str, float] = compiled.cost_analysis() or {}
    memory = compiled.memory_analysis()
    exchanges = exchanges_in(compiled.as_text())
    program = CompiledProgram(
        user_line(),
        costs.get("flops", 0.0),
        costs.get("bytes accessed", 0.0),
        _seconds(costs.get("optimal_seconds", 0.0)),
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.alias_size_in_bytes,
        memory.temp_size_in_bytes,
        Counter(kind for kind, _ in exchanges),
        exchanges=exchanges,
    )
    here.programs.append(program)
    return NotRun(outputs_of(compiled), program)


def exchanges_in(text: str) -> list[tuple[str, list[str]]]:
    """The kinds of a compiled program's exchanges, and the arrays that a chip has from each."""
    found, piece = [], ""
    for line in text.splitlines():
        # So a TPU's compiler calls a sum of which a chip has its piece alone. It is one exchange, though a sum and a cut by its text.
        if line.startswith("%all-reduce-scatter"):
            piece = line.rpartition("->")[2]
        elif line.startswith("}"):
            piece = ""
        elif match := _COLLECTIVE.match(line):
            types, kind, starts = match.groups()
            arrays = _ARRAY.findall(piece or types)
            if starts and kind != "all-reduce":  # what it begins with comes before what it has at the end
                arrays = [each for each in arrays if each != "u32[]"]
                arrays = arrays[len(arrays) // 2 :]
            found.append(("reduce-scatter" if piece else kind, arrays))
    return found


def _seconds(estimate: float) -> float:
    """The compiler's estimate. For each call whose time it does not know it takes a second off, and a step takes less than that."""
    return estimate % 1 if estimate < 0 else estimate


def outputs_of(compiled: Any) -> list[Absent]:
    """What stands for the outputs of a compiled function, where XLA has them lie."""
    shapes, layouts = jax.tree.leaves(compiled.out_info), jax.tree.leaves(compiled.output_shardings)
    return [Absent(out.shape, np.dtype(out.dtype), layout) for out, layout in zip(shapes, layouts, strict=True)]
