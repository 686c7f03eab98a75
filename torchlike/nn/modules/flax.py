"""class Flax: a flax module as a submodule of a PyTorch module."""

from __future__ import annotations

from typing import Any, Self

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from .._graph_node import wrappers
from ..parameter import Parameter
from .module import Module

__all__ = ["Flax"]


class Flax(Module):
    """An NNX module, or a linen module in ``nnx.bridge.ToNNX``, as a PyTorch module.

    Its ``nnx.Param`` become parameters, and its other variables (running statistics, counts of random streams) become buffers; their paths
    are the names. It takes and returns tensors, and trains, saves and moves like any other module. A flax module that is assigned to an
    attribute of a module, or put into a container, is wrapped automatically.

    Args:
        module: the flax module; its arrays are copied.

    Raises:
        TypeError: the module is no NNX module. ValueError: it has no variables yet.

    >>> from flax import nnx
    >>> model = torch.nn.Sequential(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), torch.nn.ReLU())
    >>> [name for name, _ in model.named_parameters()]
    ['0.bias', '0.kernel']
    >>> model(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, module: object) -> None:
        from .._foreign_module import Skeleton  # imported here, because it imports flax

        super().__init__()
        skeleton, tensors = Skeleton.of(module)
        self._skeleton = skeleton
        for place, tensor in zip(skeleton.places, tensors, strict=True):
            *path, name = map(str, place.path)
            owner: Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner.get_submodule(part)
            if place.trained:
                owner.register_parameter(name, Parameter(tensor))
            else:
                owner.register_buffer(name, tensor)

    def forward(self, *args: object, **kwargs: object) -> Tensor:
        tensors = self._tensors()
        result, changed = self._skeleton.call(tensors, args, kwargs)
        with no_grad():
            for number, new in changed.items():
                tensors[number].copy_(new)
        return result

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        self._skeleton = self._skeleton.in_mode(mode)
        return self

    @property
    def flax(self) -> Any:
        """The flax module with the current arrays."""
        return self._skeleton.filled([tensor.jax for tensor in self._tensors()])

    def _tensors(self) -> list[Any]:
        tensors = []
        for place in self._skeleton.places:
            owner = self
            for part in map(str, place.path[:-1]):
                owner = owner._modules[part]
            name = str(place.path[-1])
            tensors.append(owner._parameters[name] if place.trained else owner._buffers[name])
        return tensors

    def __repr__(self) -> str:
        return f"Flax({self._skeleton.name})"


wrappers.append(Flax)
