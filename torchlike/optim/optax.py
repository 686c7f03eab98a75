"""Any optax transformation as an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import enable_grad
from ..engine import Aval, Kernel, Value
from ..engine.recorder import Operation, recorder
from ._chain import apply_updates, with_extra_arguments
from ._update import replace_all
from .optimizer import Optimizer

__all__ = ["Optax"]


class _Step(Operation):
    """What a transformation does to the parameters of a group: all of them at once, as it may look at all of them."""

    name = "Optax"
    ends_step = True

    def __init__(self, transformation: Any) -> None:
        super().__init__()
        self.transformation = transformation

    def lower(self, args: tuple[Any, ...], avals: tuple[Aval, ...]) -> Kernel:
        count, structure, rated = args

        # optax mixes Python numbers with integers, whatever promotion the process has chosen.
        @jax.numpy_dtype_promotion("standard")
        def start(*params: Any) -> tuple[Any, ...]:
            return tuple(jax.tree.leaves(self.transformation.init(list(params))))

        @jax.numpy_dtype_promotion("standard")
        def fn(*arrays: Any) -> tuple[Any, ...]:
            remaining = iter(arrays)
            params, grads = [next(remaining) for _ in range(count)], [next(remaining) for _ in range(count)]
            leaves = [next(remaining) for _ in range(structure.num_leaves)]
            extra = {"value": next(remaining)} if rated else {}
            state = jax.tree.unflatten(structure, leaves)
            updates, state = self.transformation.update(grads, state, params, **extra)
            new = apply_updates(params, updates)
            # A transformation may compute in another dtype; state keeps the one it started with.
            closed = [leaf.astype(old.dtype) for leaf, old in zip(jax.tree.leaves(state), leaves, strict=True)]
            return *(n.astype(p.dtype) for n, p in zip(new, params, strict=True)), *closed

        if structure is None:
            return Kernel(self.name, start, avals, avals[0].placement)
        kernel = Kernel(self.name, fn, avals, avals[0].placement)
        kernel.replaces = (*range(count), *range(2 * count, 2 * count + structure.num_leaves))
        return kernel


class Optax(Optimizer):
    """An optax transformation as an optimizer: of each group, gradients and parameters go through it as one list.

    Args:
        params: tensors or groups of them.
        tx: an ``optax.GradientTransformation``. Where ``step`` gets a closure, the loss goes to ``update`` as ``value``. Numbers that
            ``optax.inject_hyperparams`` puts into its state are options of the group by their names, ``learning_rate`` as ``lr``;
            they may be changed at any time, also by a schedule of ``lr_scheduler``, and nothing is compiled for it.

    The state of group ``n`` is ``state["group n"]``: tensors by their path in the state of optax.

    Raises:
        TypeError: ``tx`` is no transformation.

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

    def __init__(self, params: Any, tx: object) -> None:
        if not (callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))):
            raise TypeError(f"tx must be an optax.GradientTransformation, but got {type(tx).__name__}")
        self._take(tx)
        super().__init__(params, {})

    def _take(self, tx: Any) -> None:
        self.tx = tx
        self._op = _Step(with_extra_arguments(tx))
        self._structures: dict[str, Any] = {}  # of the state, by group
        self._given: dict[str, dict[str, Any]] = {}  # the numbers that the state has from a group's options

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"tx": self.tx}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._take(self.tx)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, for which the transformation starts anew.

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

    def _abstract(self, params: list[Any]) -> Any:
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
            return jax.eval_shape(self._op.transformation.init, [value.aval.abstract() for value in params])

    def _options(self, name: str) -> list[tuple[str, str]]:
        """The numbers that are part of a group's state: their paths in it, and the options they are."""
        found = [(path, path.rpartition(".hyperparams['")) for path in self.state[name]]
        numbers = [(path, last.removesuffix("']")) for path, (_, there, last) in found if there]
        return [(path, "lr" if last == "learning_rate" else last) for path, last in numbers]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients; one without a gradient counts as having zeros.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        tensors = []
        results: list[Value] = []
        for number, group in enumerate(self.param_groups):
            params, name = group["params"], f"group {number}"
            if all(p._grad is None for p in params):
                continue
            values = [p._value() for p in params]
            if name not in self._structures:
                self._structures[name] = jax.tree.structure(self._abstract(values))
            kept = self.state[name]
            inputs = values + [_zeros(p._value()) if p._grad is None else p._grad._value() for p in params]
            inputs += self._numbers(name, group).values()
            rated = isinstance(loss, Tensor)
            if rated:
                inputs.append(loss.detach()._value())
            args = (len(params), self._structures[name], rated)
            outs = recorder().record(self._op, args, inputs, args)[1]
            tensors += [*params, *kept.values()]
            results += outs
        replace_all(tensors, results)
        return loss

    def _numbers(self, name: str, group: Mapping[str, object]) -> dict[str, Value]:
        """The state of a group, with the options that have been changed since it was made."""
        values = {path: own._value() for path, own in self.state[name].items()}
        given = self._given.get(name)
        if given is None:  # what the state says holds until an option changes
            given = self._given[name] = {option: group.get(option) for _, option in self._options(name)}
        for path, option in self._options(name) if given else ():
            if group[option] != given[option]:
                given[option] = group[option]
                aval = values[path].aval
                values[path] = Value.on_host(np.asarray(group[option], aval.dtype), aval.placement)
        return values


def _zeros(like: Value) -> Value:
    return Value.on_host(np.zeros(like.aval.shape, like.aval.dtype), like.aval.placement)


def _plain(number: Tensor) -> Any:
    """A number as it was written: 0.1 and not the nearest float32."""
    value = number.numpy()[()]
    return float(str(value)) if number.is_floating_point() else value.item()
