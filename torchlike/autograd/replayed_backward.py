"""Replays backward passes: the same graph at the same place of a trace gives the same records, so all are made in one step."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array

from .._core import attributes
from .._core.attributes import Contents, Fields
from .._core.fields import awaits_first_gradient, grad_of, stored_value
from .._core.node import AccumulateGrad, Node
from .._core.size import tensor_meta
from .._core.storage import Storage
from .._core.tensor import Tensor, from_value
from ..dispatch.apply import internal_dispatcher
from ..dispatch.pullback import Rule
from ..engine.aval import Aval, Meshed
from ..engine.recorder import per_thread, recorder
from ..engine.value import Value
from ..ops.elementwise.pointwise import add

if TYPE_CHECKING:
    from .._core.annotations import Dtype
    from ..engine.aval import Placement

__all__ = ["ReplayedBackward", "added", "replay_backward"]

_age = attrgetter("sequence")
# Compiled, the names are those of C functions: see ``attributes.pxd``.
globals().update(made_tensor=attributes.new, made_storage=attributes.new_storage)
# A larger graph is not described: that would take as long as it saves.
MAX_NODES = 1000
# Captured passes kept at one place of a trace at most. If there are more, the passes differ each time, and replays do not help.
MAX_KNOWN = 16


def _one(dtype: Dtype, placement: Placement) -> Array:
    return jnp.ones((), dtype.numpy)


_ONE = internal_dispatcher(_one, "one", differentiable=False)


class ReplayedBackward:
    """One backward pass from a root to leaves that have no gradient yet, described so that it is recognized when it comes again.

    ``key`` says all that the records of the pass depend on, and all of it is read from the graph: the output that the pass begins with
    and its aval; of each node that it comes to its rule, where what it has saved stands in the segment, and which node (and
    output) or leaf each edge leads to; and the order in which the nodes were made, which is the order of the pass. Whatever could do
    something else at a node makes ``describe`` give None: a hook, a class of the user's, a saved tensor that was written to or is
    packed, a gradient to add to, a leaf that wants none. So does a root on a mesh, where the 1 that the pass begins with has a layout.
    """

    __slots__ = ("key", "nodes", "leaves", "start", "segment")

    key: tuple[Any, ...]
    nodes: list[Node]
    leaves: list[Any]

    @classmethod
    def describe(cls, root: Node, number: int, aval: Aval) -> ReplayedBackward | None:
        """The pass from a root; None where it cannot be replayed: for hooks, gradients to add to, or nodes of earlier segments."""
        thread_recorder = per_thread.recorder
        segment = thread_recorder.segment
        if thread_recorder.op_by_op or aval.placement.__class__ is Meshed or len(segment.table) != segment.cursor.count:
            return None
        nodes: list[Any] = [root]
        index = {root: 0}
        leaves: list[Any] = []
        leaf_index: dict[Node, int] = {}
        key: list[Any] = [number, aval]
        append = key.append
        youngest_first, before = True, root.sequence + 1
        node: Node
        accumulator: AccumulateGrad
        storage: Contents
        value: Value
        for node in nodes:  # grows on the way
            if node.hooked:
                return None
            if node.sequence > before:
                youngest_first = False
            before = node.sequence
            for watched in node.watched:
                storage = watched[0]
                if storage.version != watched[1]:
                    return None
            saved = node.saved
            rule = node.rule
            if type(rule) is not Rule or saved is None or node.unpack is not None:
                return None
            # A rule always records the same pullbacks, so it stands for everything that the node would record.
            append(rule)
            for value in saved:
                if value.segment is not segment:
                    return None
                # The place in the table and not the value: in the next round another value stands there, and the records are the same.
                append(value.position)
            for edge in node.edges:
                if edge is None:
                    append(None)
                    continue
                target, output = edge
                if type(target) is AccumulateGrad:
                    at = leaf_index.get(target)
                    if at is None:
                        accumulator = target
                        leaf = accumulator.leaf()
                        if leaf is None or accumulator.hooked or not awaits_first_gradient(leaf):
                            return None
                        at = leaf_index[target] = len(leaves)
                        leaves.append(leaf)
                    append(-1 - at)
                else:
                    at = index.get(target)
                    if at is None:
                        at = index[target] = len(nodes)
                        nodes.append(target)
                    append(at)
                    append(output)
        if len(nodes) > MAX_NODES:
            return None
        if not youngest_first:
            # Only passes that run in another order than they are met in need it, so the key of the usual ones stays short.
            append(tuple(sorted(range(len(nodes)), key=lambda i: -nodes[i].sequence)))
        self = cls()
        self.key, self.nodes, self.leaves = tuple(key), nodes, leaves
        self.start, self.segment = segment.cursor, segment
        return self

    def replay(self, keep: bool) -> bool:
        """Makes all records at once if this pass was captured before: the leaves get their gradients, the graph is freed."""
        replays = self.start.replays
        replay = None if replays is None else replays.get(self.key)
        if replay is None:
            return False
        values = per_thread.recorder.replay(replay, (), self.start)
        if values is None:
            return False
        leaf: Fields
        gradient: Fields
        storage: Contents
        node: Node
        for leaf, value in zip(self.leaves, values, strict=True):
            # The same as ``from_value``, written out to save a call for each parameter. The leaf gets it last: an interrupt in between
            # must not leave a gradient without a storage.
            gradient = made_tensor(Tensor)  # pyright: ignore[reportUndefinedVariable]
            gradient._storage = storage = made_storage(Storage)  # pyright: ignore[reportUndefinedVariable]
            storage.value = value
            leaf._grad = gradient
        if not keep:
            for node in self.nodes:  # the same as ``Node.release``
                if node.saved or node.rule.used_once:
                    node.saved = None
                node.watched = ()
        return True

    def run(self, keep: bool) -> None:
        """Makes the pass node by node.

        The leaves get their gradients at the end: nobody looks at them before, as there is no hook and no class of the user's.
        """
        record = recorder().record
        number, aval = self.key[:2]
        # Recorded, and not given to the program as an input: so the program has a constant there, with which XLA can compute.
        described = tensor_meta(aval).dtype, aval.placement
        (seed,) = record(_ONE, _ONE.static(described), [], described)[1]
        arrived: dict[Node, dict[int, Value]] = {self.nodes[0]: {number: seed}}  # by output number
        for node in sorted(self.nodes, key=_age, reverse=True):
            cotangents = arrived.pop(node)
            numbers = tuple(sorted(cotangents)) if len(cotangents) > 1 else tuple(cotangents)
            pullback = node.rule.pullbacks.get(numbers) or node.rule.pullback(numbers)
            saved: Any = node.saved  # not None, see ``describe``
            grads = record(pullback, (), (*saved, *[cotangents[number] for number in numbers]), ())[1]
            if not keep:
                node.release()
            for edge, gradient in zip(node.edges, grads):  # noqa: B905  (as long as the edges, by construction)
                if edge is None:
                    continue
                target, number = edge
                sums = arrived.get(target)
                if sums is None:
                    arrived[target] = {number: gradient}
                else:
                    sums[number] = added(sums[number], gradient) if number in sums else gradient
        # Only leaves are left: each inner node has been taken out when it ran.
        for accumulator, sums in arrived.items():
            leaf: Any = accumulator.leaf()  # pyright: ignore[reportAttributeAccessIssue]
            leaf._grad = from_value(sums[0])

    def capture(self) -> None:
        """Called after ``run``: keeps what it recorded, if it all went into one segment."""
        grads: list[Any] = [grad_of(leaf) for leaf in self.leaves]
        thread_recorder = recorder()
        if thread_recorder.segment is self.segment:
            replay = thread_recorder.capture(self.start, (), [stored_value(g) for g in grads])
            if replay is not None:
                replays = self.start.replays
                # A program that keeps making new graphs from one point would fill the memory. It begins anew.
                if replays is None or len(replays) >= MAX_KNOWN:
                    replays = self.start.replays = {}
                replays[self.key] = replay


def added(a: Value, b: Value) -> Value:
    return add(from_value(a), from_value(b))._storage.value


def replay_backward(root: Node, number: int, aval: Aval, keep: bool) -> tuple[ReplayedBackward | None, bool]:
    """The pass from a root, and whether it is done already because it was captured before and could be replayed."""
    backward = ReplayedBackward.describe(root, number, aval)
    return backward, backward is not None and backward.replay(keep)
