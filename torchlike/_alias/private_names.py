"""Private functions of PyTorch's that libraries call, by their places there: written here, or found where torchlike has them.

Only what libraries are known to use is here. The finder looks here before it makes a stand-in, which raises where it is used.
"""

from __future__ import annotations

import functools
import itertools
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .. import ops
from .._core import dtypes, layouts
from .._core.modes import dispatch_state, modes
from .._core.tensor import Tensor
from .._core.vmapped import levels_of
from ..autograd.grad_mode import no_grad
from ..dispatch.autocast import autocast_as
from ..nn.modules._hooks import everywhere
from ..ops.creation.drawing import of_all_examples
from ..sparse._construction import sparse_compressed_tensor, sparse_coo_tensor
from .dispatch_keys import DispatchKeySet

if TYPE_CHECKING:
    from .._subclasses.fake_tensor import FakeTensorMode
    from ..nn import Module
    from ..optim import Optimizer

__all__ = ["private_name"]

_F = TypeVar("_F")
_C = TypeVar("_C", bound=Callable[..., object])
PACKAGE = __name__.partition(".")[0]
# By module and name: what this file defines.
_DEFINED: dict[tuple[str, str], object] = {}
# What torchlike has under another name: module and name there, by module and name in PyTorch.
_SYNONYMS: dict[str, dict[str, str]] = {
    "torch.distributions.multivariate_normal": {
        "_precision_to_scale_tril": "distributions.multivariate_normal:tril_of_precision",
        "_batch_mahalanobis": "distributions.multivariate_normal:squared_distance",
        "_batch_mv": "distributions.multivariate_normal:matrix_vector",
    },
    "torch._tensor_str": {"printoptions": "_core.printing:printoptions", "PRINT_OPTS": "_core.printing:_options"},
    "torch._C": {
        "_TensorBase": "_core.tensor:Tensor",
        "TensorBase": "_core.tensor:Tensor",
        "_DisableTorchDispatch": "_core.modes:undispatched",
    },
    "torch.utils._mode_utils": {"no_dispatch": "_core.modes:undispatched"},
    "torch.nn.init": {
        "_no_grad_uniform_": "nn.init:uniform_",
        "_no_grad_normal_": "nn.init:normal_",
        "_no_grad_trunc_normal_": "nn.init:trunc_normal_",
        "_no_grad_fill_": "nn.init:constant_",
        "_no_grad_zero_": "nn.init:zeros_",
    },
}


def private_name(module: str, name: str) -> object:
    """The object of a private name of PyTorch's; KeyError where there is none here."""
    if (module, name) in _DEFINED:
        return _DEFINED[module, name]
    home, _, own = _SYNONYMS[module][name].partition(":")
    return vars(import_module(f"{PACKAGE}.{home}"))[own]


def _of(*modules: str) -> Callable[[_C], _C]:
    """Enters a function under its name in modules of PyTorch's."""

    def enter(function: _C) -> _C:
        for module in modules:
            _DEFINED[module, function.__name__] = function
        return function

    return enter


# ---- torch: functions


@_of("torch")
def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor as an int64 tensor."""
    return ops.tensor(list(input.shape), dtype=dtypes.int64)


def _cast_to(name: str, dtype: dtypes.dtype) -> None:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(dtype, non_blocking=non_blocking)

    cast.__name__ = f"_cast_{name}"
    _DEFINED["torch", cast.__name__] = cast


for _name, _dtype in (
    ("Byte", dtypes.uint8), ("Char", dtypes.int8), ("Short", dtypes.int16), ("Int", dtypes.int32), ("Long", dtypes.int64),
    ("Half", dtypes.float16), ("Float", dtypes.float32), ("Double", dtypes.float64),
):  # fmt: skip
    _cast_to(_name, _dtype)


@_of("torch")
def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtypes.dtype, *, grad_input: object = None
) -> Tensor:
    """The gradient of ``softmax`` for its input, from its output."""
    _refuse_out("_softmax_backward_data", grad_input)
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


@_of("torch")
def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtypes.dtype, *, out: object = None
) -> Tensor:
    """The gradient of ``log_softmax`` for its input, from its output."""
    _refuse_out("_log_softmax_backward_data", out)
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _refuse_out(name: str, out: object) -> None:
    if out is not None:
        raise NotImplementedError(f"torchlike does not support torch.{name} with a tensor to write into")


@_of("torch")
def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises a RuntimeError if the element of a tensor is zero. It reads the element at once."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


@_of("torch")
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """The numbers of the places along a dimension."""
    return ops.arange(like.shape[dim], device=like.device)


@_of("torch")
def _is_any_true(input: Tensor) -> Tensor:
    """Whether an element is True."""
    return of_all_examples(input).any()


@_of("torch")
def _is_all_true(input: Tensor) -> Tensor:
    """Whether all elements are True."""
    return of_all_examples(input).all()


@_of("torch")
def _int_mm(self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix of int8, or uint8, and one of int8, in int32."""
    where = "int_mm_out_cpu: Expected"
    if self.dim() != 2:
        raise RuntimeError(f"{where} self to be of dimension 2 but got {self.dim()}")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}"
        )
    for name, tensor, allowed in (("self dtype", self, "int8 or uint8"), ("mat2 dtype", mat2, "of type int8")):
        if str(tensor.dtype).rpartition(".")[2] not in allowed.split():
            raise RuntimeError(f"{where} {name} to be {allowed} but got {dtypes.C_NAMES[tensor.dtype.name]}")
    product = ops.mm(self.to(dtypes.int32), mat2.to(dtypes.int32))
    if out is None:
        return product
    if out.dtype is not dtypes.int32:
        raise RuntimeError(f"{where} result dtype to be of type kInt but got {dtypes.C_NAMES[out.dtype.name]}")
    for d in (0, 1):
        if out.shape[d] != product.shape[d]:
            raise RuntimeError(f"{where} result.size({d}) to be {product.shape[d]} but got {out.shape[d]}")
    return out.copy_(product)


@_of("torch.utils._mode_utils")
def all_same_mode(modes: Sequence[object]) -> bool:
    """Whether modes are equal."""
    return all(mode == modes[0] for mode in modes)


@_of("torch")
def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None, check_pinning: object = None
) -> None:
    """Raises if these make no sparse tensor."""
    sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=is_coalesced)


@_of("torch")
def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor,
    plain_indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    layout: layouts.layout,
    check_pinning: object = None,
) -> None:
    """Raises if these make no compressed tensor."""
    sparse_compressed_tensor(compressed_indices, plain_indices, values, size, layout=layout, check_invariants=True)


def _validate(layout: layouts.layout) -> None:
    def check(
        compressed_indices: Tensor,
        plain_indices: Tensor,
        values: Tensor,
        size: Sequence[int],
        check_pinning: object = None,
    ) -> None:
        _validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, layout)

    check.__name__ = f"_validate_{layout.name}_tensor_args"
    _DEFINED["torch", check.__name__] = check


for _layout in (layouts.sparse_csr, layouts.sparse_csc, layouts.sparse_bsr, layouts.sparse_bsc):
    _validate(_layout)


# ---- torch._C, torch._guards, torch._functorch: what is in progress


@_of("torch._C")
def _are_functorch_transforms_active() -> bool:
    """Whether ``vmap`` or a derivative of ``torch.func`` is in progress in this thread."""
    return bool(modes.vmaps or modes.derivatives)


_passes: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
_numbers = itertools.count()


@_of("torch._C")
def _current_graph_task_id() -> int:
    """The number of the backward pass that is running in this thread; -1 where none is."""
    running = modes.backward_pass
    if running is None:
        return -1
    if running not in _passes:
        _passes[running] = next(_numbers)
    return _passes[running]


@_of("torch._C")
def _set_grad_enabled(enabled: bool) -> None:
    """Switches the recording of gradients."""
    modes.record(enabled)


@_of("torch._C")
def _ExcludeDispatchKeyGuard(keys: DispatchKeySet) -> AbstractContextManager[None]:
    """Within it operators do without what is registered for autocast. There are no other keys."""
    names = {str(key).rpartition(".")[2] for key in keys._keys}
    if not all(name.startswith("Autocast") for name in names):
        raise NotImplementedError(
            f"torchlike does not support _ExcludeDispatchKeyGuard of {', '.join(sorted(names))}: only keys of autocast"
        )
    return autocast_as(None) if modes.autocast else nullcontext()


@_of("torch._C._functorch")
def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether ``vmap`` maps over the tensor."""
    return bool(levels_of(tensor._aval))


@_of("torch._guards")
def active_fake_mode() -> FakeTensorMode | None:
    """The fake mode that this thread is in."""
    from .._subclasses.fake_tensor import FakeTensorMode

    return next((mode for mode in reversed(dispatch_state.stack) if isinstance(mode, FakeTensorMode)), None)


@_of("torch._guards")
def detect_fake_mode(inputs: object = None) -> FakeTensorMode | None:
    """The fake mode that this thread is in, or that fake tensors among the inputs belong to."""
    from .._subclasses.fake_tensor import maybe_get_fake_mode
    from ..utils._pytree import tree_leaves

    found = [mode for mode in (active_fake_mode(), *map(maybe_get_fake_mode, tree_leaves(inputs))) if mode is not None]
    if any(mode is not found[0] for mode in found):
        raise AssertionError(f"fake mode ({found[0]}) does not match another one among the inputs")
    return found[0] if found else None


# ---- torch.nn


@_of("torch.nn.functional")
def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: dtypes.dtype | None,
    other_name: str,
    target_type: dtypes.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask of numbers to add to scores, from one of truth values: minus infinity where it is True."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if mask.dtype is not dtypes.bool_:
        return mask
    return ops.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


@_of("torch.nn.functional")
def _none_or_dtype(input: Tensor | None) -> dtypes.dtype | None:
    """The dtype of a tensor; None of None."""
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


@_of("torch.nn._reduction")
def get_enum(reduction: str) -> int:
    """The number of a reduction."""
    numbers = {"none": 0, "mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


@_of("torch.nn._reduction")
def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two older flags stand for."""
    from ..ops.nn.loss import legacy_reduction

    if emit_warning:
        return legacy_reduction(True if size_average is None else size_average, reduce, "mean")
    average, reduces = size_average is None or size_average, reduce is None or reduce
    return ("mean" if average else "sum") if reduces else "none"


@_of("torch.nn._reduction")
def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that the two older flags stand for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


@_of("torch.nn.init")
def _make_deprecate(method: Callable[..., object]) -> Callable[..., object]:
    """A function under its former name, which warns."""
    import warnings

    new, old = method.__name__, method.__name__[:-1]

    @functools.wraps(method)
    def deprecated(*args: object, **kwargs: object) -> object:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return method(*args, **kwargs)

    deprecated.__name__ = old
    return deprecated


# The hooks that every module runs. These are the tables themselves, which a library may read and write.
_HOOKS = "torch.nn.modules.module"
for _name, _table in (
    ("forward", everywhere.forward), ("forward_pre", everywhere.forward_pre), ("backward", everywhere.backward),
    ("backward_pre", everywhere.backward_pre), ("parameter_registration", everywhere.parameter_registration),
    ("buffer_registration", everywhere.buffer_registration), ("module_registration", everywhere.module_registration),
):  # fmt: skip
    _DEFINED[_HOOKS, f"_global_{_name}_hooks"] = _table


@_of("torch.nn.modules.module")
def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines, but for the first, are indented."""
    first, *others = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in others)])


@_of("torch.nn.utils._named_member_accessor")
def swap_tensor(module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False) -> object:
    """Puts a tensor in the place of a module's own, and returns that."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    return _swap(module, name, tensor, allow_missing)


def _swap(module: Module, name: str, tensor: Tensor | None, allow_missing: bool) -> object:
    from ..nn.utils.stateless import _MISSING, _Place

    place = _Place(module, name)
    before = place.get()
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    place.set(tensor)
    return before


@_of("torch.nn.utils._named_member_accessor")
def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Puts a tensor in the place of a module's own."""
    swap_tensor(module, name, tensor, allow_missing=True)


class NamedMemberAccessor:
    """Reads and replaces the modules and tensors within a module by their dotted names."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> Module:
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value: Module) -> Module:
        owner, _, name = path.rpartition(".")
        parent = self.get_submodule(owner)
        before = parent.get_submodule(name)
        setattr(parent, name, value)
        return before

    def get_tensor(self, name: str) -> Tensor:
        from ..nn.utils.stateless import _MISSING, _Place

        found = _Place(self.module, name).get()
        if found is _MISSING:
            raise AttributeError(f"{self.module._get_name()} has no attribute `{name}`")
        return found  # pyright: ignore[reportReturnType]

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        return [self.get_tensor(name) for name in names]

    def set_tensor(self, name: str, value: Tensor) -> None:
        _swap(self.module, name, value, True)

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: Mapping[str, Tensor]) -> None:
        self.set_tensors(named_tensors, named_tensors.values())

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> object:
        return _swap(self.module, name, value, allow_missing)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False) -> list[object]:
        pairs = zip(names, values, strict=True)
        return [self.swap_tensor(name, value, allow_missing) for name, value in pairs]

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, object], list[str]]:
        from ..nn.utils.stateless import _MISSING

        before = {name: self.swap_tensor(name, value, True) for name, value in named_tensors.items()}
        missing = [name for name, value in before.items() if value is _MISSING]
        if missing and not allow_missing:
            raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names that are missing among the keys, and those that the module does not have."""
        given = set(keys)
        own = {name for name, _ in (*self.named_parameters(), *self.named_buffers())}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


_DEFINED["torch.nn.utils._named_member_accessor", "NamedMemberAccessor"] = NamedMemberAccessor


# ---- torch.optim


@_of("torch.optim.optimizer")
def _use_grad_for_differentiable(step: Callable[..., object]) -> Callable[..., object]:
    """A ``step`` that records gradients only where the optimizer is differentiable."""

    @functools.wraps(step)
    def stepping(self: Optimizer, *args: object, **kwargs: object) -> object:
        if self.defaults["differentiable"]:
            return step(self, *args, **kwargs)
        with no_grad():
            return step(self, *args, **kwargs)

    return stepping


@_of("torch.optim.optimizer")
def _get_value(x: object) -> object:
    """The number in a tensor."""
    return x.item() if isinstance(x, Tensor) else x


@_of("torch.optim.optimizer")
def _stack_if_compiling(x: _F) -> _F:
    """The same: nothing is compiled apart."""
    return x


@_of("torch.optim.optimizer")
def _to_scalar(x: object) -> object:
    """A tensor of one element without dimensions."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


@_of("torch.optim.optimizer")
def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Puts real views in the places of complex parameters, and of what belongs to them."""
    for number, param in enumerate(params):
        if param.is_complex():
            params[number] = ops.view_as_real(param)
            for tensors in state_and_grads:
                tensors[number] = ops.view_as_real(tensors[number])


@_of("torch.optim.optimizer")
def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """The dtype in which steps are counted."""
    from .._core.dtypes import get_default_dtype

    return dtypes.float64 if not is_fused and get_default_dtype() is dtypes.float64 else dtypes.float32


@_of("torch.optim.optimizer")
def _disable_dynamo_if_unsupported(single_tensor_fn: object = None) -> Callable[[_F], _F]:
    """A decorator that changes nothing: there is no dynamo."""
    return lambda function: function


# ---- torch.utils, torch._utils, torch.backends, torch._logging


@_of("torch.utils.data._utils.worker")
def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The numbers from which NumPy's generator begins in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(number) for number in np.random.SeedSequence(entropy).generate_state(4)]


@contextmanager
def _allow_mutation() -> Iterator[None]:
    yield


# Switches may always be set: ``torch.backends.disable_global_flags`` is not there.
_DEFINED["torch.backends", "__allow_nonbracketed_mutation"] = _allow_mutation
_DEFINED["torch.backends", "__allow_nonbracketed_mutation_flag"] = True


@_of("torch._utils")
def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one dtype that take at most so many bytes together, unless one alone takes more."""
    by_type: dict[object, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        group, size = by_type.get(tensor.type(), ([], 0))
        own = tensor.numel() * tensor.element_size()
        if group and size + own > size_limit:
            yield group
            group, size = [], 0
        by_type[tensor.type()] = ([*group, tensor], size + own)
    for group, _ in by_type.values():
        yield group


@_of("torch._utils")
def _element_size(dtype: dtypes.dtype) -> int:
    """The bytes of an element."""
    return dtype.itemsize


@_of("torch._utils")
def _import_dotted_name(name: str) -> object:
    """The object of a dotted name."""
    first, *others = name.split(".")
    found: object = __import__(first)
    for part in others:
        found = getattr(found, part)
    return found


@_of("torch._logging")
def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger of a module for one kind of messages."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


@_of("torch._logging")
@functools.lru_cache(None)
def warning_once(logger_obj: logging.Logger, message: str, *args: object) -> None:
    """Warns, once for each message."""
    logger_obj.warning(message, *args)


@_of("torch._environment")
def is_fbcode() -> bool:
    """Whether this is the build of PyTorch's authors: it is not."""
    return False
