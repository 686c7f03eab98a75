"""Any optax transformation as an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax import Array

from .._core.fields import grad_of
from .._core.tensor import Tensor, from_value
from ..engine import Aval, Kernel, Value
from ..engine.jax_settings import tracing
from ..engine.recorder import Operation, recorder
from ._chain import apply_updates, with_extra_arguments
from ._update import replace_all
from .optimizer import Optimizer, loss_of

__all__ = ["Optax"]


class _Step(Operation):
    """A step of a transformation for a group: of all parameters at once, since it may look at all of them (a global norm)."""

    name = "Optax"
    ends_step = True

    def __init__(self, transformation: Any) -> None:
        super().__init__()
        self.transformation = transformation

    def lower(self, args: tuple[Any, ...], avals: tuple[Aval, ...]) -> Kernel:
        count, structure, has_loss = args

        # optax mixes Python numbers with integers, which fails if the process has chosen strict promotion.
        @jax.numpy_dtype_promotion("standard")
        def start(*params: Array) -> tuple[Array, ...]:
            return tuple(jax.tree.leaves(self.transformation.init(list(params))))

        @jax.numpy_dtype_promotion("standard")
        def fn(*arrays: Array) -> tuple[Array, ...]:
            remaining = iter(arrays)
            params, grads = [next(remaining) for _ in range(count)], [next(remaining) for _ in range(count)]
            leaves = [next(remaining) for _ in range(structure.num_leaves)]
            extra = {"value": next(remaining)} if has_loss else {}
            state = jax.tree.unflatten(structure, leaves)
            updates, state = self.transformation.update(grads, state, params, **extra)
            new = apply_updates(params, updates)
            # A transformation may compute in another dtype. The state keeps its first dtype, so that the program stays the same.
            new_leaves = [leaf.astype(old.dtype) for leaf, old in zip(jax.tree.leaves(state), leaves, strict=True)]
            return *(n.astype(p.dtype) for n, p in zip(new, params, strict=True)), *new_leaves

        if structure is None:
            return Kernel(self.name, start, avals, avals[0].placement)
        kernel = Kernel(self.name, fn, avals, avals[0].placement)
        kernel.replaces = (*range(count), *range(2 * count, 2 * count + structure.num_leaves))
        return kernel


class Optax(Optimizer):
    """An optax transformation as an optimizer. It gets the gradients and the parameters of a group as one list each.

    Args:
        params: tensors or groups of them.
        tx: an ``optax.GradientTransformation``. If ``step`` gets a closure, ``update`` gets its loss as ``value``. Numbers that
            ``optax.inject_hyperparams`` puts into its state are options of the group under their names, ``learning_rate`` as ``lr``.
            A program or a schedule of ``lr_scheduler`` may change them at any time, and nothing is compiled for it.

    The state of group ``n`` is ``state["group n"]``: tensors by their path in optax's state.

    Raises:
        TypeError: ``tx`` is not a transformation.

    >>> import optax
    >>> w = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    >>> optimizer = torch.optim.Optax([w], optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1.0)))
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([2.4000, 3.2000], requires_grad=True)

    Source: https://optax.readthedocs.io
    """

    _by_elements = False

    def __init__(self, params: object, tx: object) -> None:
        if not (callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))):
            raise TypeError(f"tx must be an optax.GradientTransformation, but got {type(tx).__name__}")
        self._set_transformation(tx)
        super().__init__(params, {})

    def _set_transformation(self, tx: Any) -> None:
        self.tx = tx
        self._op = _Step(with_extra_arguments(tx))
        self._structures: dict[str, object] = {}  # by group: the tree structure of optax's state
        self._options_in_state: dict[
            str, dict[str, object]
        ] = {}  # by group: the values of its options that the state has

    def __getstate__(self) -> dict[str, object]:
        return super().__getstate__() | {"tx": self.tx}

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._set_transformation(self.tx)

    def add_param_group(self, param_group: dict[str, object]) -> None:
        """Adds a group, for which the transformation begins with a new state.

        >>> import optax
        >>> w, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1))
        >>> optimizer = torch.optim.Optax([w], optax.adam(0.1))
        >>> optimizer.add_param_group({"params": [b]})
        >>> list(optimizer.state)
        ['group 0', 'group 1']
        """
        super().add_param_group(param_group)
        group, name = self.param_groups[-1], f"group {len(self.param_groups) - 1}"
        params = [p._value() for p in group["params"]]
        paths, _ = jax.tree.flatten_with_path(self._abstract(params))
        args = (len(params), None, False)
        values = recorder().record(self._op, args, params, args)[1] if paths else ()
        self.state[name] = {
            jax.tree_util.keystr(path): from_value(value) for (path, _), value in zip(paths, values, strict=True)
        }
        for path, option in self._options(name):
            group.setdefault(option, _plain(self.state[name][path]))

    @tracing
    def _abstract(self, params: list[Value]) -> Any:
        with jax.numpy_dtype_promotion("standard"):
            return jax.eval_shape(self._op.transformation.init, [value.aval.abstract() for value in params])

    def _options(self, name: str) -> list[tuple[str, str]]:
        """The options that are numbers in a group's state: pairs of the path in the state and the option's name."""
        split_paths = [(path, path.rpartition(".hyperparams['")) for path in self.state[name]]
        numbers = [(path, key.removesuffix("']")) for path, (_, separator, key) in split_paths if separator]
        return [(path, "lr" if key == "learning_rate" else key) for path, key in numbers]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients. A parameter without a gradient has a gradient of zeros.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        loss = loss_of(closure)
        tensors = []
        results: list[Value] = []
        for number, group in enumerate(self.param_groups):
            params, name = group["params"], f"group {number}"
            grads = [grad_of(p) for p in params]
            if all(grad is None for grad in grads):
                continue
            values = [p._value() for p in params]
            if name not in self._structures:
                self._structures[name] = jax.tree.structure(self._abstract(values))
            state = self.state[name]
            inputs = values + [
                _zeros(p._value()) if grad is None else grad._value() for p, grad in zip(params, grads, strict=True)
            ]
            inputs += self._numbers(name, group).values()
            has_loss = isinstance(loss, Tensor)
            if has_loss:
                inputs.append(loss.detach()._value())
            args = (len(params), self._structures[name], has_loss)
            outs = recorder().record(self._op, args, inputs, args)[1]
            tensors += [*params, *state.values()]
            results += outs
        replace_all(tensors, results)
        return loss

    def _numbers(self, name: str, group: Mapping[str, object]) -> dict[str, Value]:
        """The state of a group, with the options that have changed since the last step."""
        values = {path: own._value() for path, own in self.state[name].items()}
        in_state = self._options_in_state.get(name)
        if in_state is None:  # at the first step the state's numbers count, which a loaded file may have changed
            in_state = self._options_in_state[name] = {option: group.get(option) for _, option in self._options(name)}
        for path, option in self._options(name) if in_state else ():
            if group[option] != in_state[option]:
                in_state[option] = group[option]
                aval = values[path].aval
                values[path] = Value.on_host(np.asarray(group[option], aval.dtype), aval.placement)
        return values


def _zeros(like: Value) -> Value:
    return Value.full(like.aval.shape, like.aval.dtype, like.aval.placement)


def _plain(number: Tensor) -> float:
    """A number as the program wrote it: 0.1, and not the nearest float32."""
    value = number.numpy()[()]
    return float(str(value)) if number.is_floating_point() else value.item()
