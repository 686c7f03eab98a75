"""Pruning: parameters multiplied by masks of zeros and ones."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.creation.filled import ones_like, zeros_like
from ...ops.creation.random import rand, rand_like
from ...ops.reduction.sort import topk
from ...ops.shape.joining import cat

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A hook that sets a parameter to ``original * mask`` before each ``forward``; a subclass defines ``compute_mask``.

    ``PRUNING_TYPE`` says which part of a parameter a further pruning considers: ``"unstructured"`` the unpruned elements, ``"structured"``
    the unpruned slices, ``"global"`` all elements.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.BasePruningMethod.html
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: object, inputs: Tensor) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """The mask for a tensor, which keeps the zeros of ``default_mask``."""

    def apply_mask(self, module: object) -> Tensor:
        """The parameter of a module times its mask."""
        name = self._tensor_name
        mask, original = getattr(module, name + "_mask"), getattr(module, name + "_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: object, importance_scores: Tensor | None = None, **kwargs: object
    ) -> Any:
        """Prunes a parameter of a module. It may be pruned already.

        Args:
            name: the name of the parameter.
            importance_scores: numbers of the parameter's shape that decide instead of its own elements.
            args, kwargs: for the constructor.
        """
        old = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(old) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
            )
        for key, _ in old:  # As in PyTorch, an error in the arguments also removes the earlier pruning.
            del module._forward_pre_hooks[key]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        scores = original if importance_scores is None else importance_scores
        hook: BasePruningMethod = method
        with no_grad():
            if old:
                ((_, before),) = old
                hook = before if isinstance(before, PruningContainer) else PruningContainer(before)
                hook.add_pruning_method(method)
                mask = hook.compute_mask(scores.detach(), getattr(module, name + "_mask"))
                module._buffers[name + "_mask"] = mask
            else:
                module.register_parameter(name + "_orig", original)  # raises for a name that is no parameter
                del module._parameters[name]
                try:
                    mask = method.compute_mask(scores, ones_like(original))
                except Exception:
                    module.register_parameter(name, module._parameters.pop(name + "_orig"))
                    raise
                module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Any, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Any:
        """A pruned copy of a tensor, without a module.

        Args:
            default_mask: the mask of earlier prunings.
            importance_scores: numbers that decide instead of the tensor's elements.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Makes the parameter an ordinary one again, with its zeros."""
        name = self._tensor_name
        pruned = self.apply_mask(module).detach()
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, one after another."""

    PRUNING_TYPE = ""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if not isinstance(args[0] if len(args) == 1 else args, Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        elif args:
            methods = tuple(args[0]) if len(args) == 1 else args
            self._tensor_name = methods[0]._tensor_name
            for method in methods:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: object) -> None:
        """Adds a pruning of the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask after the last pruning, which considers only what the earlier ones have not pruned."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            where = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim if method.dim >= 0 else method.dim + t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            where = tuple([slice(None)] * dim + [mask.sum(others) != 0])
        elif method.PRUNING_TYPE == "global":
            where = tuple([slice(None)] * t.dim())
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        # Written through the selection, so that the method sees only what its ``PRUNING_TYPE`` lets it consider.
        new = mask.clone()
        new[where] = method.compute_mask(t[where], default_mask=mask[where]).to(t.dtype)
        return new


class Identity(BasePruningMethod):
    """Prunes nothing, but adds a mask of ones and the original."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Args:
        amount: the number to prune, or the share of those not pruned yet.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: object, default_mask: Tensor) -> Tensor:
        # PyTorch prunes the elements with the largest random numbers.
        return _without_smallest(-rand_like(t), default_mask, self.amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of the smallest absolute value.

    Args:
        amount: the number to prune, or the share of those not pruned yet.
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_smallest(t.abs(), default_mask, self.amount)


class RandomStructured(BasePruningMethod):
    """Prunes slices at random.

    Args:
        amount: the number to prune, or the share of those not pruned yet.
        dim: the dimension along which the slices are numbered.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _slices(t, self.amount, self.dim)
        if count == 0:
            return default_mask
        size = t.shape[self.dim]
        # PyTorch keeps the slices whose random number is above the k-th smallest.
        noise = rand(size)
        is_kept = noise > noise.kthvalue(count).values
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * is_kept.reshape(shape).to(default_mask.dtype)


class LnStructured(BasePruningMethod):
    """Prunes the slices of the smallest norm.

    Args:
        amount: the number to prune, or the share of those not pruned yet.
        n: the norm, as in ``torch.norm``.
        dim: the dimension along which the slices are numbered.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: IntOrInts, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _slices(t, self.amount, self.dim)
        if count == 0:
            return default_mask
        dim = self.dim if self.dim >= 0 else self.dim + t.dim()
        norms = t.norm(self.n, [d for d in range(t.dim()) if d != dim])
        largest_slices = topk(norms, t.shape[dim] - count, largest=True).indices
        mask = zeros_like(t)
        mask[tuple([slice(None)] * dim + [largest_slices])] = 1
        return mask * default_mask.to(mask.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def _without_smallest(scores: Tensor, mask: Tensor, amount: object) -> Tensor:
    count = _how_many(amount, scores.numel())
    if count == 0:
        return mask
    new = mask.clone()
    new.view(-1)[topk(scores.reshape(-1), count, largest=False).indices] = 0
    return new


def _slices(t: Tensor, amount: float, dim: int) -> int:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return _how_many(amount, t.shape[dim])


def _validate_pruning_amount_init(amount: float) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: float, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _how_many(amount: Any, size: int) -> int:
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def identity(module: Module, name: str) -> Module:
    """Adds a mask of ones and the original to a parameter, and prunes nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: object) -> Module:
    """Prunes elements of a parameter at random: ``amount`` of them, or that share."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Module, name: str, amount: object, importance_scores: Tensor | None = None) -> Module:
    """Prunes the elements of a parameter that have the smallest absolute value: ``amount`` of them, or that share.

    >>> layer = torch.nn.Linear(4, 1)
    >>> layer.weight.data = torch.tensor([[1.0, -2.0, 3.0, -4.0]])
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
    tensor([[0., 0., 1., 1.]])
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_mask']

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.l1_unstructured.html
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: object, name: str, amount: float, dim: int) -> Any:
    """Prunes slices along a dimension of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: object, name: str, amount: float, n: IntOrInts, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prunes the slices along a dimension of a parameter that have the smallest norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: object, pruning_method: type, importance_scores: Tensor | None = None, **kwargs: object
) -> None:
    """Prunes several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: an unstructured pruning class.
        importance_scores: a mapping from such pairs to tensors that decide instead of the parameters' elements.
        kwargs: arguments of the method's constructor.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not a dict")
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    tensors = [getattr(module, name) for module, name in pairs]
    ranked = cat([scores.get(pair, t).detach().reshape(-1) for pair, t in zip(pairs, tensors, strict=True)])
    masks = [getattr(m, name + "_mask", ones_like(t.detach())) for (m, name), t in zip(pairs, tensors, strict=True)]
    method._tensor_name = "temp"
    container = PruningContainer(method)
    with no_grad():
        joint_mask = container.compute_mask(ranked, cat([mask.reshape(-1) for mask in masks]))
    start = 0
    for (module, name), t in zip(pairs, tensors, strict=True):
        end = start + t.numel()
        custom_from_mask(module, name, joint_mask[start:end].view(t.shape))
        start = end


def remove(module: Module, name: str) -> Module:
    """Makes a pruned parameter an ordinary one again, which keeps its zeros.

    Raises:
        ValueError: it is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module or of one within it is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values())
