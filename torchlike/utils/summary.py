"""The layers of a model as a table: what each returns and how many parameters it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .. import ops
from .._core.annotations import DeviceLike, Dtype
from .._core.dtypes import float32
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ._pytree import tree_leaves

__all__ = ["Layer", "Summary", "summary"]

Sizes: TypeAlias = Sequence[int] | Sequence[Sequence[int]]


@dataclass
class Layer:
    """One call of one module.

    ``parameters`` counts the parameters of the module and its submodules, each once; ``own_parameters`` only those of the module itself.
    ``bytes_of_outputs`` is the memory of its results.
    """

    name: str
    kind: str
    depth: int
    parameters: int
    own_parameters: int
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    bytes_of_outputs: int = 0
    again: bool = False  # whether the module was called before; its parameters are counted at the first call
    called: bool = True
    leaf: bool = True


@dataclass
class Summary:
    """The result of ``summary``: the layers in the order of their calls, and totals. Its text is the table."""

    layers: list[Layer]
    depth: int
    parameters: int
    trainable_parameters: int
    bytes_of_parameters: int
    bytes_of_inputs: int

    @property
    def bytes_of_outputs(self) -> int:
        """The memory of the results of the innermost modules, about as much as the backward pass needs."""
        return sum(layer.bytes_of_outputs for layer in self.layers if layer.leaf)

    def __str__(self) -> str:
        rows = [("Layer", "Output shape", "Parameters")]
        for layer in self.layers:
            if layer.depth <= self.depth:
                name = f"{layer.kind}" if not layer.depth else f"{layer.name} ({layer.kind})"
                rows.append(("  " * layer.depth + name, _shapes(layer), _count(layer)))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        rule = "=" * (sum(widths) + 4)
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
        fixed = self.parameters - self.trainable_parameters
        totals = [
            f"Parameters: {self.parameters:,} ({self.trainable_parameters:,} trainable, {fixed:,} not)",
            f"Memory: inputs {_megabytes(self.bytes_of_inputs)}, outputs of layers {_megabytes(self.bytes_of_outputs)}, "
            f"parameters {_megabytes(self.bytes_of_parameters)}",
        ]
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, *totals, rule])

    __repr__ = __str__


def _shapes(layer: Layer) -> str:
    if not layer.called:
        return "not called"
    return ", ".join(str(list(shape)) for shape in layer.outputs) or "--"


def _count(layer: Layer) -> str:
    return "(again)" if layer.again and layer.parameters else f"{layer.parameters:,}" if layer.parameters else "--"


def _megabytes(count: int) -> str:
    return f"{count / 2**20:.2f} MB"


def summary(
    model: Any,
    input_size: Sizes | None = None,
    input_data: Any = None,
    *,
    depth: int = 3,
    dtypes: Iterable[Dtype] | None = None,
    device: DeviceLike | None = None,
    **kwargs: object,
) -> Summary:
    """The layers of a model as a table, after a call of it in evaluation mode: what each returns, and its parameters.

    Args:
        model: a module.
        input_size: the shape of the input, batch included, or a list of shapes. The model is called with zeros.
        input_data: in place of it: the input, or a tuple or list of inputs.
        depth: the depth to which modules are shown; all are counted.
        dtypes: the dtypes of the inputs (default: float32).
        device: the device of the inputs (default: that of the first parameter).
        kwargs: further arguments of the model.

    Raises:
        ValueError: neither or both of ``input_size`` and ``input_data`` are given.

    >>> print(torchlike.summary(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), (1, 2)))
    ======================================
    Layer         Output shape  Parameters
    ======================================
    Sequential    [1, 3]                 9
      0 (Linear)  [1, 3]                 9
      1 (ReLU)    [1, 3]                --
    ======================================
    Parameters: 9 (9 trainable, 0 not)
    Memory: inputs 0.00 MB, outputs of layers 0.00 MB, parameters 0.00 MB
    ======================================
    """
    if (input_size is None) is (input_data is None):
        raise ValueError("summary() needs either input_size or input_data")
    inputs = _inputs(model, input_size, input_data, dtypes, device)
    watch = _Watch(model)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with no_grad():
            model(*inputs, **kwargs)
    finally:
        watch.stop()
        for module, training in modes.items():
            module.training = training
    parameters = list(model.parameters())
    input_tensors = [leaf for leaf in tree_leaves((inputs, kwargs)) if isinstance(leaf, Tensor)]
    return Summary(
        watch.layers_with_uncalled(),
        depth,
        _size(parameters),
        _size(parameter for parameter in parameters if parameter.requires_grad),
        sum(parameter.nbytes for parameter in parameters),
        sum(tensor.nbytes for tensor in input_tensors),
    )


def _size(parameters: Iterable[Tensor]) -> int:
    return sum(parameter.numel() for parameter in parameters)


def _inputs(
    model: Any, size: Any, data: Any, dtypes: Iterable[Dtype] | None, device: DeviceLike | None
) -> tuple[Any, ...]:
    if data is not None:
        return tuple(data) if isinstance(data, (tuple, list)) else (data,)
    shapes = [size] if not size or isinstance(size[0], int) else list(size)
    kinds = [float32] * len(shapes) if dtypes is None else list(dtypes)
    if device is None:
        device = next((parameter.device for parameter in model.parameters()), None)
    return tuple(ops.zeros(tuple(shape), dtype=kind, device=device) for shape, kind in zip(shapes, kinds, strict=True))


class _Watch:
    """Records the calls of every module by hooks."""

    def __init__(self, model: object) -> None:
        self.layers: list[Layer] = []
        self._open: list[Layer] = []
        self._seen: set[Any] = set()
        self._paths = {module: (name, depth) for module, name, depth in _walk(model, "", 0)}
        self._handles = []
        for module in self._paths:
            self._handles.append(module.register_forward_pre_hook(self._enter))
            self._handles.append(module.register_forward_hook(self._leave, always_call=True))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _enter(self, module: object, args: object) -> None:
        layer = self._layer(module, len(self._open))
        layer.again = module in self._seen
        if self._open:
            self._open[-1].leaf = False
        self._seen.add(module)
        self._open.append(layer)
        self.layers.append(layer)

    def _leave(self, module: object, args: object, output: object) -> None:
        layer = self._open.pop()
        for leaf in tree_leaves(output):
            if isinstance(leaf, Tensor):
                layer.outputs.append(tuple(leaf.shape))
                layer.bytes_of_outputs += leaf.nbytes

    def _layer(self, module: Any, depth: int) -> Layer:
        size = _size(module.parameters(recurse=False))
        return Layer(self._paths[module][0], type(module).__name__, depth, _size(module.parameters()), size)

    def layers_with_uncalled(self) -> list[Layer]:
        """Returns the calls, followed by the modules with parameters of their own that were not called."""
        outer_layers = []
        for module, (_, depth) in self._paths.items():
            if module not in self._seen and _size(module.parameters(recurse=False)):
                layer = self._layer(module, depth)
                layer.called = layer.leaf = False
                outer_layers.append(layer)
        return self.layers + outer_layers


def _walk(module: Any, name: str, depth: int) -> Iterator[tuple[Any, str, int]]:
    """Yields each submodule once, with its name and its depth."""
    counted: set[Any] = set()

    def visit(module: Any, name: str, depth: int) -> Iterator[tuple[Any, str, int]]:
        if module not in counted:
            counted.add(module)
            yield module, name, depth
            for key, child in module.named_children():
                yield from visit(child, key, depth + 1)

    return visit(module, name, depth)
