"""A flax module as a submodule: tensors hold its variables, and its call is one recorded operation over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pickle import PicklingError
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from .._core.tensor import Tensor, from_host
from ..dispatch.apply import apply, internal_dispatcher
from ..interop import from_jax
from ._graph import nnx

__all__ = ["Skeleton"]

KeyPath = tuple[Any, ...]  # names and numbers that lead to the variable


class Place:
    """The path of a variable in the flax module, and the variable without its array."""

    __slots__ = ("path", "kind", "metadata", "key_kind")

    def __init__(self, path: KeyPath, variable: Any) -> None:
        self.path, self.kind, self.metadata = path, type(variable), variable.get_metadata()
        value = variable.get_raw_value()
        # Keys of JAX's generator have a special dtype that tensors do not support, so tensors hold the numbers of the key.
        self.key_kind = str(jax.random.key_impl(value)) if _is_key(value) else None

    @property
    def trained(self) -> bool:
        return issubclass(self.kind, nnx.Param)

    def array_of(self, value: Array) -> Array:
        return value if self.key_kind is None else jax.random.key_data(value)

    def variable(self, array: Any) -> Any:
        value = array if self.key_kind is None else jax.random.wrap_key_data(array, impl=self.key_kind)
        return self.kind(value, **self.metadata)


class Skeleton:
    """All of a flax module except its arrays. It is immutable: training and evaluation mode have a skeleton each.

    Args:
        name: the name of the module's class.
        graph: flax's description of the module.
        places: the places of its variables. Lists of their arrays have this order.
    """

    def __init__(self, name: str, graph: Any, places: Sequence[Place]) -> None:
        self.name = name
        self.graph = graph
        self.places = tuple(places)
        self._modes: dict[bool, Skeleton] = {}
        self._calls: dict[Any, Call] = {}

    @classmethod
    def of(cls, module: object) -> tuple[Skeleton, list[Tensor]]:
        """Returns the skeleton of a flax module, and copies of its arrays.

        Raises:
            TypeError: the module is not an NNX module. ValueError: it has no arrays yet, like a linen module before its first input.
        """
        if not isinstance(module, nnx.Module):
            raise TypeError(
                f"Flax() takes an NNX module, not {type(module).__name__}; a linen module goes into nnx.bridge.ToNNX first"
            )
        graph, state = nnx.split(module)
        variables = list(nnx.to_flat_state(state))
        if isinstance(module, nnx.bridge.ToNNX) and all(path[0] == "to_nnx__rngs" for path, _ in variables):
            raise ValueError(
                f"{type(module.to_nnx__module).__name__} has no variables yet: call lazy_init(example input) on it before it becomes "
                "part of a module"
            )
        places = [Place(tuple(path), variable) for path, variable in variables]
        arrays = [p.array_of(v.get_raw_value()) for p, (_, v) in zip(places, variables, strict=True)]
        # A module that is created inside a JAX transformation has tracers as arrays.
        tensors = [from_jax(a) if isinstance(a, Tracer) else from_host(np.array(a)) for a in arrays]
        return cls(type(module).__name__, graph, places), tensors

    def filled(self, arrays: Sequence[object]) -> Any:
        """Returns the flax module with these arrays."""
        pairs = [(place.path, place.variable(array)) for place, array in zip(self.places, arrays, strict=True)]
        return nnx.merge(self.graph, nnx.from_flat_state(pairs))

    def in_mode(self, training: bool) -> Skeleton:
        """Returns the skeleton of the module after flax's ``train()`` or ``eval()``."""
        if training not in self._modes:
            module = self.filled([_stand_in_array(place) for place in self.places])
            (module.train if training else module.eval)()
            graph = nnx.graphdef(module)
            skeleton = self if graph == self.graph else Skeleton(self.name, graph, self.places)
            skeleton._modes = self._modes
            self._modes[training] = skeleton
        return self._modes[training]

    def call(
        self, tensors: Sequence[object], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Any, dict[int, Any]]:
        """Calls the module on tensors.

        Returns:
            The module's result, and the new values of the variables that the call has changed, by the numbers of their places.
        """
        leaves, structure = jax.tree.flatten((args, kwargs), is_leaf=lambda leaf: isinstance(leaf, Tensor))
        leaves = [from_jax(leaf) if isinstance(leaf, jax.Array) else leaf for leaf in leaves]
        leaves = [from_host(leaf.copy()) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        fixed = tuple(None if isinstance(leaf, Tensor) else leaf for leaf in leaves)
        has_64_bits = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]
        key = structure, tuple((type(leaf), leaf) for leaf in fixed), has_64_bits
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = Call(self, structure, fixed, has_64_bits)
        tensor_args = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        outs = apply(_CALL, ([*tensors, *tensor_args], call))
        count = call.result.num_leaves
        return call.result.unflatten(outs[:count]), dict(zip(call.changed, outs[count:], strict=True))

    # Copies of a module share this object, because only their arrays differ.
    def __deepcopy__(self, memo: Mapping[int, object]) -> Skeleton:
        return self

    def __reduce__(self) -> Any:
        raise PicklingError(
            f"{self.name} is a flax module, which holds functions that cannot be pickled: save its state_dict"
        )


class Call:
    """The signature of a call of a module: everything except its arrays. ``result`` and ``changed`` are set when it is traced."""

    result: Any = None  # the tree structure of the module's result
    changed: Any = None  # the numbers of the places whose variables get new values

    def __init__(self, skeleton: Skeleton, structure: Any, fixed: tuple[object, ...], has_64_bits: bool) -> None:
        self.skeleton, self.structure, self.fixed, self.has_64_bits = skeleton, structure, fixed, has_64_bits

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Calls the module on arrays: first those of the variables, then those of the arguments."""
        # flax expects JAX's default, which has no 64-bit types. They are switched on only if an argument is a double.
        doubles = any(array.dtype in (np.float64, np.complex128) for array in arrays)
        with jax.enable_x64(self.has_64_bits or doubles):
            if not (self.has_64_bits or doubles):
                arrays = [_narrow(array) for array in arrays]
            # A variable that the call does not change keeps this object, so identity shows the changed ones.
            arrays = [jnp.asarray(array) for array in arrays]
            count = len(self.skeleton.places)
            module, inputs = self.skeleton.filled(arrays[:count]), iter(arrays[count:])
            args, kwargs = self.structure.unflatten([next(inputs) if leaf is None else leaf for leaf in self.fixed])
            result = module(*args, **kwargs)
            leaves, self.result = jax.tree.flatten(result)
            new = dict(nnx.to_flat_state(nnx.state(module)))
            unknown = new.keys() - {place.path for place in self.skeleton.places}
            if unknown:
                raise NotImplementedError(
                    f"{type(module).__name__} makes new variables when it is called ({sorted(map(str, unknown))}): torchlike does not "
                    "support this in a submodule"
                )
            new_arrays = [new[place.path].get_raw_value() for place in self.skeleton.places]
            if self.changed is None:
                # A key gives new numbers each time it is read, but no call changes a key: flax counts its uses in another variable.
                self.changed = tuple(
                    number
                    for number, (place, array, old) in enumerate(
                        zip(self.skeleton.places, new_arrays, arrays[:count], strict=True)
                    )
                    if not place.trained and place.key_kind is None and array is not old
                )
            return [*map(jnp.asarray, leaves), *(new_arrays[number] for number in self.changed)]


def _run(arrays: list[Array], call: Any) -> list[Array]:
    return call(arrays)


_CALL = internal_dispatcher(_run, "flax", several=True)


def _is_key(value: object) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _stand_in_array(place: Place) -> Any:
    """Returns a placeholder for the array of a place, for uses in which only the structure of the module matters."""
    return (
        np.zeros(2, np.uint32)
        if place.key_kind is None
        else jax.random.key_data(jax.random.key(0, impl=place.key_kind))
    )


def _narrow(array: Any) -> Any:
    narrow = {np.dtype(np.int64): np.int32, np.dtype(np.uint64): np.uint32}.get(np.dtype(array.dtype))
    return array if narrow is None else array.astype(narrow)
