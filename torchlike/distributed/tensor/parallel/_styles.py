"""Parallel styles: how the weights of a layer are split over a mesh, and the layouts of its inputs and outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import jax

from ...._core.tensor import Tensor
from ....dispatch.moving import Hint, hinted, move, put_on_mesh, redistribute
from ....engine.aval import Meshed
from ...device_mesh import DeviceMesh
from .._dtensor import DTensor, distribute_tensor, replicate_rest
from .._layouts import is_on_mesh, normalized, where
from .._pieces import PieceOfDTensor, as_parameter
from ..placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
    "SequenceParallel",
]  # fmt: skip

Layouts = Placement | Sequence[Placement | None] | None


class ParallelStyle(ABC):
    """What a plan says of one module.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: object, device_mesh: DeviceMesh) -> object: ...


def laid_out(value: object, placement: Placement | None, mesh: DeviceMesh) -> Any:
    """Returns a tensor with this placement along the axis of the mesh. Its layout along other axes does not change."""
    if placement is None or not isinstance(value, Tensor):
        return value
    if isinstance(placement, Partial):
        raise NotImplementedError(f"torchlike does not support the layout {placement!r} of inputs and outputs yet")
    (normal,) = normalized([placement], mesh, value.dim())
    if not is_on_mesh(value):
        return move(value, where(mesh, [normal]))
    grid = mesh.grid
    if len(grid.mesh.axis_names) == 1:
        return redistribute(value, where(mesh, [normal]))
    if not isinstance(normal, Shard) or value.shape[normal.dim] % mesh.size():
        return value  # a hint would have to name its layout along the other axes, which XLA chooses better
    entries: list[Any] = [jax.sharding.PartitionSpec.UNCONSTRAINED] * value.dim()
    entries[normal.dim] = grid.axes[0]
    return hinted(value, Hint(grid.mesh, tuple(entries)))


def _cut(module: Any, name: str, placement: Placement, mesh: DeviceMesh, source: int | None) -> None:
    parameter = getattr(module, name)
    if parameter is None:
        return
    if mesh.over_processes:
        piece: Any = distribute_tensor(parameter.detach(), mesh, [placement], src_data_rank=source)
        module._parameters[name] = as_parameter(piece, parameter.requires_grad)
        return
    before = parameter._aval.placement
    target = where(mesh, normalized([placement], mesh, parameter.dim()), before if isinstance(before, Meshed) else None)
    put_on_mesh(parameter, target)


def _replicate(module: object, mesh: DeviceMesh) -> None:
    if mesh.over_processes:  # in one process ``parallelize_module`` does it, for what no style names too
        replicate_rest(module, mesh)


def _is_embedding(module: object) -> bool:
    return hasattr(module, "num_embeddings")


def _is_linear(module: object) -> bool:
    return hasattr(module, "in_features") and hasattr(module, "out_features")


def _first(layouts: Layouts, otherwise: Placement) -> Placement:
    if layouts is None:
        return otherwise
    return layouts if isinstance(layouts, Placement) else otherwise


def _hook_input(module: Any, given: Placement, wanted: Placement, mesh: DeviceMesh) -> None:
    module.register_forward_pre_hook(lambda owner, inputs: (prepared(inputs[0], given, wanted, mesh), *inputs[1:]))


def _hook_output(module: Any, placement: Placement, mesh: DeviceMesh, use_local: bool) -> None:
    module.register_forward_hook(lambda owner, inputs, output: finished(output, None, placement, mesh, use_local))


def prepared(
    value: object, given: Placement | None, wanted: Placement | None, mesh: DeviceMesh, use_local: bool = False
) -> Any:
    """Returns an input in the layout that is wanted.

    Args:
        given: over processes, what a plain tensor is: the placement that this process's tensor is a piece by.
        use_local: over processes, whether the module gets a plain tensor.
    """
    if not mesh.over_processes:
        return laid_out(value, wanted, mesh)
    if given is None or not isinstance(value, Tensor):
        return value
    return finished(value, given, wanted, mesh, use_local)


def finished(
    value: object, given: Placement | None, wanted: Placement | None, mesh: DeviceMesh, use_local: bool
) -> Any:
    """Returns an output in the layout that is wanted, with ``use_local`` as a plain tensor."""
    if not mesh.over_processes:
        return laid_out(value, wanted, mesh)
    if wanted is None or not isinstance(value, Tensor):
        return value
    spread: Any = value
    if not isinstance(value, PieceOfDTensor):
        if given is None:
            raise AssertionError(f"expecting a DTensor but got {type(value)}")
        spread = DTensor.from_local(value, mesh, [given])
    placements = normalized([wanted], mesh, spread.dim())
    if spread.placements != placements:
        spread = spread.redistribute(placements=placements)
    return spread.to_local() if use_local else spread


class _WeightParallel(ParallelStyle):
    """The base of the two styles that split the weight of a layer."""

    _default_layouts: tuple[Placement, Placement]  # of the input and of the output

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = _first(input_layouts, self._default_layouts[0])
        self.output_layouts = _first(output_layouts, self._default_layouts[1])
        self.use_local_output = use_local_output


class ColwiseParallel(_WeightParallel):
    """Splits the outputs of a linear layer, or the columns of an embedding's table.

    Args:
        input_layouts: how the input lies; by default each device has all of it.
        output_layouts: how the output is to lie; by default it is cut along its last dimension.
        use_local_output: whether to return this process's piece, a plain tensor. It changes nothing in one process.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.ColwiseParallel
    """

    _default_layouts = Replicate(), Shard(-1)

    def _apply(self, module: object, device_mesh: DeviceMesh) -> object:
        if _is_linear(module):
            _cut(module, "weight", Shard(0), device_mesh, self.src_data_rank)
            _cut(module, "bias", Shard(0), device_mesh, self.src_data_rank)
        elif _is_embedding(module):
            _cut(module, "weight", Shard(1), device_mesh, self.src_data_rank)
        else:
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        _replicate(module, device_mesh)
        _hook_input(module, self.input_layouts, Replicate(), device_mesh)
        _hook_output(module, self.output_layouts, device_mesh, self.use_local_output)
        return module


class RowwiseParallel(_WeightParallel):
    """Splits the inputs of a linear layer, or the rows of an embedding's table. The results of the devices are added.

    Args:
        input_layouts: how the input lies; by default it is cut along its last dimension.
        output_layouts: how the output is to lie; by default each device gets all of it.
        use_local_output: whether to return this process's piece, a plain tensor. It changes nothing in one process.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.RowwiseParallel
    """

    _default_layouts = Shard(-1), Replicate()

    def _apply(self, module: object, device_mesh: DeviceMesh) -> object:
        if _is_linear(module):
            _cut(module, "weight", Shard(1), device_mesh, self.src_data_rank)
            _cut(module, "bias", Replicate(), device_mesh, self.src_data_rank)
            wanted: Placement = Shard(-1)
        elif _is_embedding(module):
            _cut(module, "weight", Shard(0), device_mesh, self.src_data_rank)
            wanted = Replicate()
        else:
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")
        _replicate(module, device_mesh)
        _hook_input(module, self.input_layouts, wanted, device_mesh)
        _hook_output(module, self.output_layouts, device_mesh, self.use_local_output)
        return module


class SequenceParallel(ParallelStyle):
    """Splits the input of a normalisation or of dropout along the sequence. Each device has all parameters.

    Args:
        sequence_dim: which dimension of the input counts the elements of the sequence.
        use_local_output: whether to return this process's piece, a plain tensor. It changes nothing in one process.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.SequenceParallel
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> object:
        (sharding,) = self.sequence_sharding
        replicate_rest(module, device_mesh)
        _hook_input(module, sharding, sharding, device_mesh)
        if not device_mesh.over_processes:
            _hook_output(module, sharding, device_mesh, False)
        elif self.use_local_output:
            module.register_forward_hook(lambda owner, inputs, output: output.to_local())
        return module


def _as_tuple(layouts: Layouts) -> tuple[Placement | None, ...] | None:
    return (layouts,) if isinstance(layouts, Placement) else None if layouts is None else tuple(layouts)


class PrepareModuleInput(ParallelStyle):
    """Brings the inputs of a module into other layouts.

    Args:
        input_layouts: how they lie, one by one; None for what is no tensor.
        desired_input_layouts: how they are to lie.
        input_kwarg_layouts: the same for inputs by name.
        desired_input_kwarg_layouts: how these are to lie.
        use_local_output: whether to return this process's piece, a plain tensor. It changes nothing in one process.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.PrepareModuleInput
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _as_tuple(input_layouts), _as_tuple(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            assert self.desired_input_layouts is not None, "desired module inputs should not be None!"
            assert len(self.input_layouts) == len(self.desired_input_layouts), (
                "input_layouts and desired_input_layouts should have same length!"
            )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> object:
        def prepare(
            owner: object, inputs: tuple[object, ...], keywords: dict[str, object]
        ) -> tuple[tuple[object, ...], dict[str, object]]:
            desired_layouts = self.desired_input_layouts
            if desired_layouts is not None:
                if len(inputs) != len(desired_layouts):
                    raise ValueError("module inputs and input_layouts should have same length!")
                layouts = zip(inputs, self.input_layouts or (), desired_layouts, strict=True)
                inputs = tuple(prepared(value, given, wanted, device_mesh, local) for value, given, wanted in layouts)
            given_by_name, by_name = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
            return inputs, {
                name: prepared(value, given_by_name.get(name), by_name.get(name), device_mesh, local)
                for name, value in keywords.items()
            }

        local = self.use_local_output

        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Brings the outputs of a module into other layouts.

    Args:
        output_layouts: how they lie, one by one.
        desired_output_layouts: how they are to lie.
        use_local_output: whether to return this process's piece, a plain tensor. It changes nothing in one process.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.PrepareModuleOutput
    """

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True
    ) -> None:
        self.output_layouts, self.desired_output_layouts = _as_tuple(output_layouts), _as_tuple(desired_output_layouts)
        self.use_local_output = use_local_output
        assert len(self.output_layouts or ()) == len(self.desired_output_layouts or ()), (
            "output_layouts and desired_output_layouts should have same length!"
        )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> object:
        desired_layouts = self.desired_output_layouts or ()

        def prepare(owner: object, inputs: tuple[object, ...], outputs: object) -> object:
            output_tuple = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(output_tuple) != len(desired_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            layouts = zip(output_tuple, self.output_layouts or (), desired_layouts, strict=True)
            laid = tuple(
                finished(one, given, wanted, device_mesh, self.use_local_output) if given is not None else one
                for one, given, wanted in layouts
            )
            return laid if isinstance(outputs, tuple) else laid[0]

        module.register_forward_hook(prepare)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """``PrepareModuleInput`` and ``PrepareModuleOutput`` in one.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: object, device_mesh: DeviceMesh) -> object:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
