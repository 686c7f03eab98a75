"""Which generator draws the numbers of a tensor: the CPU's, or that of the accelerator where the tensor is."""

from __future__ import annotations

from .._core import devices
from ..engine.aval import META, Placement
from . import rng


class Kind:
    """What has been chosen for accelerators."""

    cpu_streams = False  # whether their tensors get the numbers of the CPU's streams, which the host draws
    # The class of their generators. The layer above puts one with methods of tensors here.
    of_accelerators: type[rng.CounterGenerator] = rng.CounterGenerator
    seed: int | None = None  # of generators that are made from now on; None: of the operating system


def is_drawn_there(placement: Placement) -> bool:
    """Whether tensors of a placement get numbers of the accelerator's own generator."""
    return placement.platform != "cpu" and placement is not META and not Kind.cpu_streams


def default_of(placement: Placement) -> rng.CounterGenerator:
    """The default generator of an accelerator; the same one as long as the process lives."""
    place = Placement(placement.platform, placement.index)
    generator = rng.of_accelerators.get(place)
    if generator is None:
        generator = Kind.of_accelerators(devices.of_placement(place))
        if Kind.seed is None:
            generator.seed()  # PyTorch's, too, starts somewhere else in each process
        else:
            generator.manual_seed(Kind.seed)
        generator.first = generator.raw_state()
        generator = rng.of_accelerators.setdefault(place, generator)  # two threads may race
    return generator


def seed_all(seed: int) -> None:
    """Starts the streams of all accelerators anew."""
    Kind.seed = seed
    for generator in rng.of_accelerators.values():
        generator.manual_seed(seed)


def generator_for(placement: Placement, generator: object = None) -> rng.Generator:
    """The generator that draws numbers for a placement: the one given, or the default one.

    Raises:
        TypeError: what was given is none. RuntimeError: it is of another device.
    """
    there = is_drawn_there(placement)
    if generator is None:
        return default_of(placement) if there else rng.default_generator
    if not isinstance(generator, rng.Generator):
        raise TypeError(f"expected a torch.Generator, but got {type(generator).__name__}")
    if placement is not META and isinstance(generator, rng.CounterGenerator) != there:
        wanted, found = devices.of_placement(placement).type if there else "cpu", generator.device
        found = getattr(found, "type", found)
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{found}'")
    return generator


def generator_on_host(placement: Placement, generator: object = None) -> rng.Generator:
    """A generator for one sample that the host draws, wherever the tensor will be."""
    source = generator_for(placement, generator)
    return source.on_host() if isinstance(source, rng.CounterGenerator) else source
