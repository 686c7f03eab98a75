"""What a node has saved, under the names that PyTorch's node has for it: ``_saved_self``, ``_saved_dim``, ``_raw_saved_result``."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.modes import hooks
from .._core.node import FREED, HAS_HOOKS, IS_NONE, ITSELF, SECOND_BACKWARD, AccumulateGrad, Node, check_versions
from .._core.tensor import Tensor, from_host, from_storage, from_value
from ..dispatch.apply import packed, unpacked
from ..dispatch.lowering import TENSOR
from ..dispatch.opdef import Op
from ..dispatch.pullback import Rule
from ..engine.value import Value

__all__ = ["SavedTensor"]

# The nodes whose first tensor is called ``input`` and not ``self``; and other names that PyTorch's functions have.
_INPUT = {"ConvolutionBackward0", "NativeLayerNormBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0"}
_OTHER_NAMES = {
    "AddmmBackward0": {"input": "mat1", "weight": "mat2"},
    "MmBackward0": {"other": "mat2", "weight": "mat2"},
    "BmmBackward0": {"other": "mat2"},
    "MvBackward0": {"other": "vec"},
    "DotBackward0": {"other": "tensor"},
    "EmbeddingBackward0": {"input": "indices"},
    "NativeLayerNormBackward0": {"shape": "normalized_shape"},
    "SelectBackward0": {"index": "places"},  # of all dimensions
}
# Nodes whose dimension is a list of them.
_SEVERAL_DIMS = re.compile("(Sum|Mean|Var|Std|Amax|Amin|LinalgVectorNorm|Logsumexp|VarMean|StdMean|Nansum)Backward")
# In PyTorch these parameters of these nodes are transposed before.
_TRANSPOSED = {("AddmmBackward0", "weight"), ("MmBackward0", "weight")}


class SavedTensor:
    """A tensor that a node has saved, which may be packed by hooks of its own until the backward pass."""

    __module__ = "torch._C._autograd"

    def __init__(self, node: Node, place: int | None, read: Callable[[], object]) -> None:
        self._node, self._place, self._read = node, place, read

    def register_hooks(self, pack_hook: Callable[[Tensor], object], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Packs the tensor now, and unpacks it when it is read.

        Raises:
            RuntimeError: it is freed, is None, or has hooks.
        """
        node = self._node
        if node.saved is None:
            raise RuntimeError(FREED)
        if isinstance(node.unpack, _Packed) and self._place in node.unpack.hooks:
            raise RuntimeError(HAS_HOOKS)
        tensor = self._read()
        if tensor is None:
            raise RuntimeError(IS_NONE)
        if self._place is None:
            packed(pack_hook, tensor)  # pyright: ignore[reportArgumentType]
            raise NotImplementedError(
                f"torchlike does not support hooks for the result that {node.label} has saved: it computes it again"
            )
        saved = list(node.saved)
        unpack = node.unpack if isinstance(node.unpack, _Packed) else _Packed(node.unpack)
        value = saved[self._place]
        saved[self._place] = packed(pack_hook, from_value(value) if isinstance(value, Value) else value)
        unpack.hooks[self._place] = unpack_hook
        node.saved, node.unpack = tuple(saved), unpack


class _Packed:
    """Unpacks what a node has saved: each tensor by its own hook, if it has one."""

    def __init__(self, before: Callable[[Any], Any] | None) -> None:
        self.before = before
        self.hooks: dict[int | None, Callable[[Any], Tensor]] = {}

    def __call__(self, saved: Sequence[Any]) -> tuple[Any, ...]:
        if self.before is not None:
            saved = self.before(saved)
        return tuple(
            unpacked(self.hooks[place], each)._value() if place in self.hooks else each
            for place, each in enumerate(saved)
        )


@functools.cache
def _names_of_nodes() -> dict[str, str]:
    """PyTorch's names, by node; those of tensors with a star. Recorded by tests/golden/record_saved_names.py."""
    return json.loads(Path(__file__).with_name("saved_names.json").read_text("utf-8"))


class _Attributes:
    """The attributes of one node, by name: of a tensor the input's number (of a list a tuple; of the result None), of others their value.

    Those of PyTorch's names are there whose tensor or argument the operation has; others, such as the statistics of a batch, are not.
    """

    def __init__(self, node: Node) -> None:
        rule = node.rule
        self.node, self.tensors, self.others = node, {}, {}
        names = _names_of_nodes().get(node.label)
        if names is None or not isinstance(rule, Rule) or not isinstance(rule.kernel.op, Op):
            return
        inputs, arguments = _inputs_and_arguments(node)
        for starred in names.split():
            name = starred.removeprefix("*")
            of, _, kind = name.partition("_sym_")
            if name == "result" and rule.watches_result:
                self.tensors[name] = None
            elif starred != name and name in inputs:
                self.tensors[name] = inputs[name]
            elif kind in ("sizes", "numel") and of in inputs:
                shape = rule.kernel.in_avals[inputs[of]].shape
                self.others[name] = tuple(shape) if kind == "sizes" else math.prod(shape)
            elif name in arguments:
                self.others[name] = _as_shown(arguments[name], starred != name)

    def names(self) -> list[str]:
        """As ``dir`` lists them."""
        raw = [f"_raw_saved_{name}" for name in self.tensors]
        return [*raw, *[f"_saved_{name}" for name in (*self.tensors, *self.others)]]

    def read(self, name: str) -> object:
        kind, _, short = name.partition("saved_")
        if short in self.tensors:
            where = self.tensors[short]
            return self._raw(short, where) if kind == "_raw_" else self._tensor(short, where)
        if short in self.others and kind == "_":
            return self.others[short]
        raise AttributeError(f"'{self.node.label}' object has no attribute '{name}'")

    def _raw(self, name: str, where: Any) -> object:
        if isinstance(where, tuple):
            return tuple(SavedTensor(self.node, self._place(n), lambda n=n: self._input(n)) for n in where)
        return SavedTensor(self.node, self._place(where), lambda: self._tensor(name, where))

    def _place(self, number: int | None) -> int | None:
        saved = self.node.rule.saved
        return saved.index(number) if number in saved else None

    def _tensor(self, name: str, where: Any) -> object:
        if self.node.saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        check_versions(self.node)
        if where is None:
            return self._result()
        if isinstance(where, tuple):
            return tuple(self._input(n) for n in where)
        tensor = self._input(where)
        transposed = name == "mat2" and any(
            (self.node.label, parameter) in _TRANSPOSED for parameter in self.node.rule.kernel.op.parameters.names
        )
        return tensor.t() if transposed and tensor is not None else tensor  # pyright: ignore[reportAttributeAccessIssue]

    def _result(self) -> Tensor | None:
        for storage, _, aval, producer in reversed(self.node.watched):
            if producer is ITSELF and storage.value.aval is aval:
                result = from_storage(storage)
                result._set_history(self.node, 0)
                return result
        return None

    def _input(self, number: int) -> Tensor | None:
        node = self.node
        rule, place = node.rule, self._place(number)
        if place is None or node.saved is None:
            return None
        saved = node.saved if node.unpack is None else node.unpack(node.saved)
        value = saved[place]
        edge = node.edges[rule.grad_inputs.index(number)] if number in rule.grad_inputs else None
        if edge is not None and isinstance(edge[0], AccumulateGrad):
            leaf = edge[0].variable
            if leaf is not None and leaf._value() is value:
                return leaf
            return from_value(value)._require_grad()
        tensor = from_value(value)
        if edge is not None:
            tensor._set_history(*edge)
        return tensor


def _inputs_and_arguments(node: Node) -> tuple[dict[str, Any], dict[str, object]]:
    """By PyTorch's names: the numbers of the operation's inputs, of a list a tuple of them; and its other arguments."""
    kernel = node.rule.kernel
    numbers, inputs, arguments = iter(range(len(kernel.in_avals))), {}, {}
    for name, argument in zip(kernel.op.parameters.names, kernel.args, strict=True):
        own = "self" if name == "input" and node.label not in _INPUT else name
        own = _OTHER_NAMES.get(node.label, {}).get(name, own)
        if argument is TENSOR:
            inputs[own] = next(numbers)
        elif isinstance(argument, (tuple, list)) and TENSOR in argument:
            inputs[own] = tuple(next(numbers) for element in argument if element is TENSOR)
        else:
            several = own == "dim" and argument.__class__ is int and _SEVERAL_DIMS.match(node.label)
            arguments[own] = (argument,) if several else argument
    return inputs, arguments


def _as_shown(argument: object, as_tensor: bool) -> object:
    """An argument as PyTorch's nodes show it: an operand as a tensor, and integers without a sign."""
    if as_tensor:
        return None if argument is None else from_host(np.asarray(argument))
    if isinstance(argument, int) and not isinstance(argument, bool):
        return argument % 2**64
    return tuple(_as_shown(each, False) for each in argument) if isinstance(argument, (tuple, list)) else argument


hooks.saved = lambda node, name: _Attributes(node).read(name)
hooks.saved_names = lambda node: _Attributes(node).names()
