"""Derivatives. The pullback of a kernel is itself an operation, made by ``jax.vjp``, and reads only the inputs that it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self

import jax.numpy as jnp
import numpy as np
from jax import Array

from .._core.modes import hooks
from .._core.node import Node, RuleFields, node_class
from .._core.vmapped import levels_of
from ..engine.aval import Aval
from ..engine.interpreter import ShapedDtype, Traced, trace, vjp
from ..engine.kernel import Kernel, tracing_for
from ..engine.meshes import lay_out
from ..engine.places import at_places
from ..engine.recorder import Operation
from ..numerics.half_precision import HALF, with_wide_sums
from .lowering import TENSOR, Lowered, described, refuse_as_number
from .opdef import OPERAND, Op, Saves


class Rule(RuleFields):
    """How to differentiate one kernel with respect to some of its inputs.

    Attributes:
        outputs: the numbers of the outputs that can have a gradient.
        saved: the numbers of the inputs that the pullback reads, which are found by removing dead code from it, in the order in which
            PyTorch saves them.
        count: how many inputs PyTorch's node has.
        places: which of those those inputs are.
        tree: PyTorch's nodes within this one, see ``Op.within``, with the inputs' numbers; None where there are none.
        order: the numbers of the edges in the order in which PyTorch follows them, where it is another; else None.
        saved_results: the numbers of the results that PyTorch saves, where there are several.
        one: of a call with mapped values, the rule of one example.
    """

    __slots__ = (
        "kernel", "name", "outputs", "saved", "pullbacks", "pushforwards", "count", "places", "traced", "order", "one", "tree",
        "saved_results",
    )  # fmt: skip

    def __init__(self, kernel: Lowered, mask: int, outputs: Sequence[int] | None = None) -> None:
        """``mask``: bit i is set if there is to be a gradient for input i. ``outputs``: that have a gradient, by default all that can."""
        self.kernel = kernel
        self.grad_inputs = tuple(i for i, aval in enumerate(kernel.in_avals) if mask >> i & 1 and _differentiable(aval))
        op = kernel.op
        # Rules are also made for pullbacks and writes through views, which are no declared operators and have no such field.
        constant = op.constant_results if isinstance(op, Op) else ()
        self.outputs = tuple(
            i
            for i, aval in enumerate(kernel.out_avals)
            if _differentiable(aval) and i not in constant and (outputs is None or i in outputs)
        )
        self.pullbacks: dict[tuple[int, ...], Pullback] = {}
        self.pushforwards: dict[tuple[int, ...], Pushforward] = {}
        self.one: Rule | None = None
        name = op.backward_name
        self.name = name(*_arguments_with_avals(kernel)) if callable(name) else name
        self.node_class = node_class(str(self.name))
        self.saved: tuple[int, ...] = ()
        self.traced: Traced | None = None  # dropped once the kernel of the pullback is made
        several = op.saves if isinstance(op.saves, tuple) else ()
        self.saved_results = tuple(n for n in several if isinstance(n, int) and n < len(kernel.out_avals))
        self.watches_result = op.saves is Saves.RESULT or (self.saved_results == (0,) and kernel.wrap_outputs is None)
        if self and not self.missing:
            # The pullback reads the inputs that are left when dead code is removed from it.
            with tracing_for(kernel.out_avals[0].placement):
                self.traced = self.trace(self.outputs)
            self.saved = _order_of_saving(kernel, op, {n for n in self.traced.reads() if n < len(kernel.in_avals)})
        self.take = at_places(self.saved)
        inputs, numbers = _inputs_of_node(kernel)
        # PyTorch's node lacks inputs that it treats as constants. They still need a place, because here they get a gradient.
        inputs += [i for i in self.grad_inputs if i not in inputs]
        within = op.within(*_arguments_with_avals(kernel)) if isinstance(op, Op) and op.within else None
        self.tree = None if within is None else _numbered(kernel, within)
        if self.tree and all(not isinstance(each, tuple) or len(each) == 2 for each in self.tree):
            inputs.sort(key=[each[1] if isinstance(each, tuple) else each for each in self.tree].index)
        self.count, self.places = len(inputs), tuple(map(inputs.index, self.grad_inputs))
        if isinstance(op.saves, tuple):
            self.watched = _named_inputs(kernel, op.saves)
        elif callable(op.saves):
            saved_for: Sequence[Collection[int]] = op.saves(*_arguments_with_avals(kernel))  # pyright: ignore[reportAssignmentType]
            self.watched = tuple(i for i in sorted(self.saved) if not set(self.grad_inputs).isdisjoint(saved_for[i]))
        else:
            self.watched = tuple(sorted(self.saved)) if op.saves is Saves.INPUTS else ()
        self.order = None
        if isinstance(op, Op) and op.reaches:
            numbers_in_order = _numbers_of(kernel, op.reaches(*_arguments_with_avals(kernel)))
            self.order = tuple(self.grad_inputs.index(n) for n in numbers_in_order if n in self.grad_inputs)
        self.used_once = not self.saved and bool(
            self.watched or self.saved_results or (numbers and op.saves is Saves.INPUTS) or op.used_once
        )

    def __bool__(self) -> bool:
        return bool(self.grad_inputs and self.outputs and self.kernel.op.differentiable)

    @property
    def missing(self) -> str:
        """What PyTorch calls the derivative where it has none; empty where it has one."""
        op = self.kernel.op
        differentiable = op.differentiable
        if callable(differentiable):
            describe: Callable[..., str] = differentiable  # pyright: ignore[reportAssignmentType]
            return describe(*self.kernel.args, avals=self.kernel.in_avals)
        if not isinstance(differentiable, str):
            return ""
        lacking = _named_inputs(self.kernel, op.missing_for) if op.missing_for else self.grad_inputs
        return differentiable if set(lacking).intersection(self.grad_inputs) else ""

    def spread(self, entries: Iterable[object], nothing: object) -> tuple[Any, ...]:
        """Entries for the inputs to differentiate, spread over all inputs of PyTorch's node, with ``nothing`` for the others."""
        full = [nothing] * self.count
        for place, entry in zip(self.places, entries, strict=True):
            if entry is not None:
                full[place] = entry
        return tuple(full)

    def pullback(self, arrived: tuple[int, ...]) -> Pullback:
        """The operation ``(*saved, *cotangents) -> gradients`` for cotangents of these outputs."""
        pullback = self.pullbacks.get(arrived)
        if pullback is None:
            pullback = self.pullbacks[arrived] = Pullback(self, arrived)
        return pullback

    def pushforward(self, arrived: tuple[int, ...]) -> Pushforward:
        """The operation ``(*saved, *tangents) -> tangents of the outputs`` for tangents of these of ``grad_inputs``."""
        pushforward = self.pushforwards.get(arrived)
        if pushforward is None:
            pushforward = self.pushforwards[arrived] = Pushforward(self, arrived)
        return pushforward

    def like(self, kernel: Lowered) -> Self:
        """The same rule for a call with mapped values."""
        same = type(self).__new__(type(self))
        inherited = "grad_inputs", "watched", "watches_result", "take", "node_class", "used_once"
        for name in {*inherited, *Rule.__slots__, *type(self).__slots__}:
            setattr(same, name, getattr(self, name))
        same.kernel, same.pullbacks, same.pushforwards, same.traced, same.one = kernel, {}, {}, None, self
        return same

    def pull(self, arrays: dict[int, object], cotangents: dict[int, object]) -> tuple[Any, ...]:
        """Gradients with respect to those inputs, in PyTorch's convention."""
        return self._pull(self.kernel.fn, self.kernel.in_avals, arrays, cotangents)

    def _pull(
        self,
        fn: Callable[..., Sequence[Any]],
        in_avals: Sequence[ShapedDtype],
        arrays: dict[int, object],
        cotangents: dict[int, object],
    ) -> tuple[Any, ...]:
        inputs = [arrays[i] if i in arrays else jnp.zeros(aval.shape, aval.dtype) for i, aval in enumerate(in_avals)]

        def differentiated(*differentiable_inputs: Array) -> list[Array]:
            full = list(inputs)
            for i, array in zip(self.grad_inputs, differentiable_inputs, strict=True):
                full[i] = array
            outs = fn(*full)
            return [outs[i] for i in cotangents]  # the others have none, which is not the same as zeros of one

        def arriving() -> list[Array]:
            # JAX's vjp is the transpose, PyTorch's gradient the conjugate transpose.
            return [*map(_conj, cotangents.values())]

        grads = vjp(differentiated, [inputs[i] for i in self.grad_inputs], arriving)
        return tuple(_conj(g) for g in grads)

    def trace(self, arrived: tuple[int, ...]) -> Traced:
        """The pullback for cotangents of these outputs, as a function of all inputs and of the cotangents."""
        kernel = self.kernel
        count = len(kernel.in_avals)
        arriving = [kernel.out_avals[i] for i in arrived]

        def whole(fn: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedDtype]) -> Callable[..., tuple[Any, ...]]:
            return lambda *arrays: self._pull(
                fn, in_avals, dict(enumerate(arrays[:count])), dict(zip(arrived, arrays[count:], strict=True))
            )

        if kernel.sized is None:
            return trace(whole(kernel.fn, kernel.in_avals), [*kernel.in_avals, *arriving])
        return kernel.sized.trace_derived((self.grad_inputs, arrived), arriving, whole)


class MissingRule(RuleFields):
    """Stands where PyTorch has no derivative: the result requires a gradient, and the backward pass raises.

    Args:
        missing: what PyTorch calls the derivative, or a whole sentence that it says instead.
        name: of the node; empty where ``missing`` is an operator, whose node has no name of its own ("aten::heaviside").
    """

    saved = saved_results = ()

    def __init__(self, missing: str, name: str, grad_inputs: Sequence[int] = (), outputs: Sequence[int] = ()) -> None:
        self.missing, self.grad_inputs, self.outputs = missing, tuple(grad_inputs), tuple(outputs)
        self.watched, self.watches_result, self.used_once = (), False, False
        self.is_operator = not name or missing.startswith("aten::")
        self.name = "torch::autograd::NotImplemented" if self.is_operator else name
        self.node_class = node_class(self.name)
        self.take = at_places(())

    def in_place(self) -> MissingRule:
        """The same for the in-place form: PyTorch names the operator that was called."""
        if not self.is_operator:
            return self
        return MissingRule(f"{self.missing}_", self.name, self.grad_inputs, self.outputs)

    def step(self, *_: object) -> NoReturn:
        """Raises, in PyTorch's words.

        Raises:
            RuntimeError: always; NotImplementedError where PyTorch knows the node and lacks the formula.
        """
        if " " in self.missing:
            raise RuntimeError(self.missing)
        if self.is_operator:
            raise RuntimeError(f"derivative for {self.missing} is not implemented")
        raise NotImplementedError(f"the derivative for '{self.missing}' is not implemented.")


def no_tangent(missing: str) -> NotImplementedError:
    """The error for an operation that has no derivative forwards. ``missing``: what PyTorch calls it."""
    words = f"Trying to use forward AD with {missing} that does not support it"
    return NotImplementedError(f"{words}{'.' if '::' in missing else ' because it has not been implemented yet.'}")


class ForwardOnly:
    """The rule of a node that was made under ``no_grad`` within ``jvp``, where PyTorch computes tangents: no gradient passes it."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)

    def step(self, node: Node, cotangents: object, create: bool) -> list[None]:
        """No gradients."""
        return [None] * len(node.edges)


NO_RULE_YET: Any = object()


def rule_for(kernel: Lowered, mask: int) -> Any:
    """The derivative rule of a kernel for inputs given as a bit mask, made at the first call; None where there is no derivative."""
    rule = kernel.rules.get(mask, NO_RULE_YET)
    if rule is NO_RULE_YET:
        if kernel.one is not None:
            rule = rule_for(kernel.one, mask)
            rule = kernel.rules[mask] = rule.like(kernel) if isinstance(rule, Rule) else rule
            return rule
        if isinstance(kernel.op, Op):
            refuse_as_number(kernel.op, kernel.args, lambda number: bool(mask >> number & 1))
        rule = Rule(kernel, mask) or None
        if rule is not None and rule.missing:
            rule = MissingRule(rule.missing, str(rule.name), rule.grad_inputs, rule.outputs)
        kernel.rules[mask] = rule
    return rule


class GradientsRule(Rule):
    """How to differentiate gradients that were computed together. Each is a function of what it was computed from, and of nothing else."""

    __slots__ = ("_read_by",)

    def __init__(
        self, kernel: Lowered, mask: int, outputs: Sequence[int], read_by: Mapping[int, Collection[int]]
    ) -> None:
        """``read_by``: the inputs of the kernel that each output depends on."""
        super().__init__(kernel, mask, outputs)
        self._read_by = read_by

    def step(self, node: Any, cotangents: dict[int, Any], create: bool) -> list[Any]:
        """The gradients; None for an input that none of these outputs depends on."""
        read = set().union(*(self._read_by[number] for number in cotangents))
        gradients = hooks.pull(node, cotangents, create)
        return [gradient if i in read else None for i, gradient in zip(self.grad_inputs, gradients, strict=True)]


def rules_of_gradients(kernel: Lowered, mask: int) -> list[Rule]:
    """The derivative rules of the gradients that a pullback has computed.

    The gradient of ``a`` in ``a * b`` is no function of ``a``: differentiating it gives None for ``a``, not zeros. And it is computed by
    itself, by an operation of PyTorch's with a node of its own, so it has a rule of its own. Gradients whose computations have a step in
    common stay together, or each of their derivatives would repeat that step.

    What an input decides through integers and booleans alone, as which elements ``sort`` has moved where, is no function of it either.
    """
    rules = kernel.rules_of_gradients.get(mask)
    if rules is None and kernel.one is not None:
        rules = kernel.rules_of_gradients[mask] = [rule.like(kernel) for rule in rules_of_gradients(kernel.one, mask)]
    if rules is None:
        rules, traced = [], trace(kernel.fn, kernel.in_avals)
        for outputs in traced.apart():
            read_by = {output: _varies_with(kernel, traced, output) for output in outputs}
            own = mask & sum(1 << i for i in set().union(*read_by.values()))
            rules.append(
                GradientsRule(kernel, own, outputs, read_by) if len(outputs) > 1 else Rule(kernel, own, outputs)
            )
        rules = kernel.rules_of_gradients[mask] = list(filter(None, rules))
    return rules


def _varies_with(kernel: Lowered, traced: Traced, output: int) -> set[int]:
    """The inputs of a pullback that one of its gradients is a function of, as PyTorch sees it."""
    if 0 in kernel.out_avals[output].shape:  # nothing is computed, so the trace does not show what would be
        return set(range(len(kernel.in_avals)))
    op = kernel.op.rule.kernel.op
    return traced.reads_of(output) if isinstance(op, Op) and op.zero_second else traced.varies_with(output)


class Pullback(Operation):
    """The pullback of one rule for one set of arriving cotangents, as an operation with a single kernel."""

    def __init__(self, rule: Rule, arrived: tuple[int, ...]) -> None:
        self.rule = rule
        self.arrived = arrived
        self.name = f"{rule.name}"
        self._kernel: Kernel | None = None
        # what Rule asks of an op, for derivatives of derivatives
        self.backward_name = f"{rule.name}Backward"
        self.saves = Saves.INPUTS
        self.differentiable, self.used_once = True, False

    def static(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        return ()

    def kernel(self, static: tuple[object, ...], args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        if self._kernel is None:
            one = self.rule.one
            if one is None:
                self._kernel = self.lower(args, avals)
            else:
                self._kernel = one.pullback(self.arrived).kernel(static, args, avals)
        return self._kernel

    def kept_levels(self, levels: Sequence[object]) -> Sequence[Collection[object]] | None:
        # An input that all examples share gets the sum of their gradients.
        own = [set(levels_of(aval)) for aval in self.rule.kernel.in_avals]
        summed = [set().union(*own) - own[i] for i in self.rule.grad_inputs]
        return [set(levels) - others for others in summed] if any(summed) else None

    def known_kernel(self, static: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel | None:
        # The kernel serves gradients in other places of a mesh too. What is kept about a recorded call, its placement for one, does not.
        kernel = self._kernel
        return kernel if kernel is not None and kernel.in_avals == avals else None

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        rule, count = self.rule, len(self.rule.saved)
        layouts = [rule.kernel.in_avals[i].placement for i in rule.grad_inputs] if rule.kernel.on_mesh else []

        def fn(*arrays: object) -> tuple[Any, ...]:
            saved = dict(zip(rule.saved, arrays[:count], strict=True))
            grads = rule.pull(saved, dict(zip(self.arrived, arrays[count:], strict=True)))
            return tuple(map(lay_out, grads, layouts)) if layouts else grads

        traced, inputs = None, len(rule.kernel.in_avals)
        taken = (*rule.saved, *range(inputs, inputs + len(self.arrived)))
        if self.arrived == rule.outputs and not layouts:
            # The usual case: all outputs have a gradient, and the trace that has found the inputs to save serves the kernel as well.
            # A trace is large, and no second kernel can use it.
            traced, rule.traced = rule.traced, None
        elif rule.kernel.sized is not None and not layouts:
            traced = rule.trace(self.arrived)  # for other sizes, too, and for other processes
            if not traced.reads().issubset(taken):
                traced = None
        if traced is not None:
            traced = traced.taking(taken)
        if any(aval.dtype in HALF for aval in avals):
            traced = traced or trace(fn, avals)  # NumPy sums in float32 in any case
            fn = with_wide_sums(fn)
        # On a mesh, the gradient of an input that has a layout gets the same layout.
        placement = layouts or rule.kernel.out_avals[0].placement
        kernel = Lowered(self, (), fn, avals, placement, wrap_outputs=tuple, traced=traced)
        kernel.saved = count
        return kernel


class Pushforward(Operation):
    """The change of a kernel's outputs with its inputs, for one set of inputs that change: the transpose of the pullback.

    The pullback is linear in the cotangent, so what it reads besides is all that this reads, and an operator needs one derivative, the one
    backwards.
    """

    saves, differentiable, used_once = Saves.INPUTS, True, False

    def __init__(self, rule: Rule, arrived: tuple[int, ...]) -> None:
        super().__init__()
        self.rule, self.arrived = rule, arrived
        self.name = self.backward_name = f"{rule.name}Forward"

    def static(self, args: tuple[object, ...]) -> tuple[object, ...]:
        return ()

    def kernel(self, static: tuple[object, ...], args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        one = self.rule.one
        return super().kernel((), (), avals) if one is None else one.pushforward(self.arrived).kernel((), (), avals)

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        rule, count = self.rule, len(self.rule.saved)
        outputs = [rule.kernel.out_avals[i] for i in rule.outputs]

        def fn(*arrays: Array) -> tuple[Array, ...]:
            saved: dict[int, object] = dict(zip(rule.saved, arrays[:count], strict=True))
            inputs = [rule.kernel.in_avals[i] for i in rule.grad_inputs]
            changes = dict(zip(self.arrived, arrays[count:], strict=True))

            def pull(*cotangents: Array) -> list[Array]:
                return list(rule.pull(saved, dict(zip(rule.outputs, cotangents, strict=True))))

            # JAX's transpose is not conjugated, the pullback is.
            def arriving() -> list[Array]:
                return [
                    _conj(changes[n]) if n in changes else jnp.zeros(aval.shape, aval.dtype)
                    for n, aval in enumerate(inputs)
                ]

            zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in outputs]
            return tuple(_conj(change) for change in vjp(pull, zeros, arriving))

        return Lowered(self, (), fn, avals, rule.kernel.out_avals[0].placement.home, wrap_outputs=tuple)


def _arguments_with_avals(kernel: Lowered) -> list[object]:
    """The call's arguments with each tensor replaced by its aval, since a node's name may depend on shapes."""
    return described(kernel.args, kernel.in_avals, lambda aval: aval)


def _inputs_of_node(kernel: Lowered) -> tuple[list[int | None], bool]:
    """The inputs that PyTorch's node has, each by its number in the kernel, if it is there; and whether numbers are among them.

    PyTorch makes a tensor of the 2 in ``a * 2``, and its node has two inputs. ``a ** 2`` is another function than ``a ** b``, and has
    one: there the names of the nodes differ.
    """
    op, count = kernel.op, len(kernel.in_avals)
    if not isinstance(op, Op):
        return [i for i in range(count) if _differentiable(kernel.in_avals[i])], False
    arguments, name = _arguments_with_avals(kernel), op.backward_name
    # If a tensor in the place of the number would give the node another name, PyTorch has a separate function for numbers.
    scalar = Aval((), np.dtype(np.float32), kernel.in_avals[0].placement)

    def might_be_a_tensor(position: int) -> bool:
        if not callable(name):
            return True
        return name(*arguments) == name(*arguments[:position], scalar, *arguments[position + 1 :])

    inputs: list[int | None] = []
    tensors, numbers = iter(range(count)), False
    for position, (arg, role) in enumerate(zip(kernel.args, op.roles, strict=True)):
        counts = op.parameters.names[position] not in op.constant
        for element in arg if isinstance(arg, (list, tuple)) else (arg,):
            if element is TENSOR:
                number = next(tensors)
                if counts and (role == OPERAND or _differentiable(kernel.in_avals[number])):
                    inputs.append(number)
            elif counts and role == OPERAND and might_be_a_tensor(position):
                inputs.append(None)
                numbers |= element is not None
    return inputs, numbers


def _named_inputs(kernel: Lowered, names: tuple[str | int, ...]) -> tuple[int, ...]:
    """The numbers of the kernel's inputs that are the tensors of these parameters."""
    numbers, inputs = iter(range(len(kernel.in_avals))), []
    for name, arg in zip(kernel.op.parameters.names, kernel.args, strict=True):
        tensors = [
            next(numbers) for element in (arg if isinstance(arg, (list, tuple)) else (arg,)) if element is TENSOR
        ]
        inputs += tensors if name in names else ()
    return tuple(inputs)


def _numbers_of(kernel: Lowered, names: Sequence[str]) -> list[int]:
    """The numbers of the kernel's inputs that are the tensors of these parameters, in the order of the names."""
    return [number for name in names for number in _named_inputs(kernel, (name,))]


def _numbered(kernel: Lowered, within: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same with the number of the kernel's input for each parameter's name."""
    return tuple(
        (entry[0], *_numbered(kernel, entry[1:])) if isinstance(entry, tuple) else _numbers_of(kernel, (entry,))[0]
        for entry in within
    )


def _order_of_saving(kernel: Lowered, op: Any, inputs: Collection[int]) -> tuple[int, ...]:
    """These inputs in the order in which PyTorch saves them, which hooks for saved tensors see.

    PyTorch's node saves them by the names of its native function's parameters, in alphabetical order; the first is ``self`` there.
    """
    if not isinstance(op, Op):
        return tuple(sorted(inputs))
    if op.saved_in_order is None:
        names = sorted(kernel.op.parameters.names, key=lambda name: "self" if name == "input" else name)
    else:
        names = op.saved_in_order(*_arguments_with_avals(kernel))
    tensors = [number for number in _numbers_of(kernel, names) if number in inputs]
    # The numbers that are inputs of the program come after its tensors. PyTorch's hooks do not see them.
    return (*tensors, *sorted(set(inputs).difference(tensors)))


def _differentiable(aval: Aval) -> bool:
    kind = aval.dtype.kind
    # NumPy has no bfloat16: its kind is "V", as that of a structure.
    return kind in "fc" or (kind == "V" and jnp.issubdtype(aval.dtype, np.floating))


def _conj(array: Any) -> Array:
    return jnp.conj(array) if array.dtype.kind == "c" else array
