"""torch._subclasses.fake_tensor: what a program's shapes, dtypes and devices would be, without computing or taking memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from .._core import devices, dtypes
from .._core.annotations import DeviceLike
from .._core.fields import node_of, requires_grad_flag, set_requires_grad, storage_of, view_record
from .._core.modes import dispatch_state, undispatched
from .._core.overridable import meet
from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor, alias, from_value
from .._ops import operator
from ..engine.aval import META, Aval
from ..engine.value import Value
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_map

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of which there can be no fake one."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class _OperatorError(RuntimeError):
    def __init__(self, func: object) -> None:
        super().__init__(str(func))
        self.func = func


class DataDependentOutputException(_OperatorError):
    """The result depends on elements, which there are none of."""


class DynamicOutputShapeException(_OperatorError):
    """The shape of the result depends on elements, which there are none of."""


class UnsupportedOperatorException(_OperatorError):
    """An operator that says nothing of its shapes."""


class MetadataMismatchError(RuntimeError):
    """A fake result whose shape, dtype or device is not the real one's."""


# Operators whose result has as many elements as the elements say.
_DYNAMIC = frozenset(
    "nonzero masked_select unique_dim unique_consecutive _unique2 unique_dim_consecutive bincount repeat_interleave".split()  # noqa: SIM905
)
_NOT_FAKE = "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in {}({})"


class FakeTensor(Tensor):
    """A tensor without elements, which says that it is on a device such as the CPU. ``FakeTensorMode`` makes them.

    Args:
        fake_mode: the mode that it belongs to.
        elem: a tensor on the meta device.
        device: the device that it says.
        constant: the tensor itself, where its elements are known.

    >>> from torchlike._subclasses.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     y = torch.nn.Linear(1000, 10)(torch.randn(32, 1000))
    >>> y.shape, y.device
    (torch.Size([32, 10]), device(type='cpu'))
    """

    fake_mode: FakeTensorMode
    constant: Tensor | None

    def __new__(
        cls, fake_mode: FakeTensorMode, elem: Tensor, device: DeviceLike, constant: Tensor | None = None
    ) -> FakeTensor:
        meet(cls)
        self: Any = alias(elem, cls)
        self._outer_device = devices.as_device(device) if not isinstance(device, devices.device) else device
        set_requires_grad(self, requires_grad_flag(elem))
        self.fake_mode, self.constant = fake_mode, constant
        return self

    @property
    def fake_device(self) -> devices.device:
        """The device that it says."""
        return self._outer_device

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """A fake tensor like another tensor."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        parts = ["..."]
        if self._outer_device.type != "cpu":
            parts.append(f"device='{self._outer_device}'")
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype is not dtypes.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        node = node_of(self)
        if node is not None:
            parts.append(f"grad_fn=<{node.name()}>")
        elif requires_grad_flag(self):
            parts.append("requires_grad=True")
        return f"FakeTensor({', '.join(parts)})"

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raises: there are no elements."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        """The elements, where they are known."""
        if self.constant is None:
            raise DataDependentOutputException(operator("_local_scalar_dense"))
        return self.constant.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: object, args: Args = (), kwargs: Kwargs | None = None) -> Any:
        mode = next(leaf.fake_mode for leaf in _tensors((args, kwargs)) if isinstance(leaf, FakeTensor))
        with mode:
            return func(*args, **(kwargs or {}))


def _tensors(tree: object) -> list[Tensor]:
    tensors: list[Tensor] = []

    def look(leaf: object) -> object:
        if isinstance(leaf, Tensor):
            tensors.append(leaf)
        return leaf

    tree_map(look, tree)
    return tensors


class FakeTensorMode(TorchDispatchMode):
    """A context in which functions make fake tensors: shapes, dtypes, devices and errors are those of the program, nothing is computed.

    Args:
        allow_fallback_kernels: taken and without a meaning: there are no other kernels.
        allow_non_fake_inputs: take tensors that were made outside, rather than raise.
        shape_env, static_shapes: sizes are numbers; a ``shape_env`` raises.
        export: taken and without a meaning.
    """

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: object = None,
        static_shapes: bool | None = None, export: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError("torchlike does not support FakeTensorMode(shape_env=...): sizes are numbers")
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = None, True if static_shapes is None else static_shapes, export

    def __enter__(self) -> FakeTensorMode:
        self._entered = self not in dispatch_state.stack
        self.old_dispatch_mode_flags.append(self._entered)
        return super().__enter__() if self._entered else self

    def __exit__(self, *exception: object) -> None:
        if self.old_dispatch_mode_flags.pop():
            super().__exit__(*exception)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None, **options: object) -> FakeTensor:
        """A fake tensor like another tensor. It is a leaf, and requires a gradient if that one does.

        Args:
            static_shapes: sizes are numbers in any case.
            options: ``source``, ``symbolic_context`` and others that PyTorch's tracer gives.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        with undispatched():
            elem = _meta(tensor)
            set_requires_grad(elem, requires_grad_flag(tensor))
            fake = FakeTensor(self, elem, tensor.device)
            fake._is_param = tensor._is_param
        return fake

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func._overloadpacket.__name__, dict(kwargs or {})
        if name == "lift_fresh":
            return self._known(args[0])
        tensors = _tensors((args, kwargs))
        if name == "_local_scalar_dense":
            constant = getattr(args[0], "constant", None)
            if constant is not None:
                return constant.item()
            raise DataDependentOutputException(func)
        boolean = name in ("index", "index_put") and any(
            t.dtype in (dtypes.bool_, dtypes.uint8) for t in _tensors(args[1])
        )
        if name in _DYNAMIC or (boolean and name == "index"):
            raise DynamicOutputShapeException(func)
        self._check(func, tensors)
        device = self._device_of(func, kwargs, tensors)
        if "device" in kwargs:
            kwargs["device"] = devices.as_device("meta")
        fakes: dict[int, Tensor] = {}

        def take_out(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            fake = value if isinstance(value, FakeTensor) else self.from_tensor(value)
            elem = alias(fake)
            fakes[id(storage_of(elem)), id(view_record(elem))] = fake  # pyright: ignore[reportArgumentType]
            return elem

        fake_args, keywords = tree_map(take_out, args), tree_map(take_out, kwargs)
        with undispatched():
            result = func(*fake_args, **keywords)
        if func._signature is not None and func._signature.schema.is_mutable:
            args[0].constant = None
            return args[0]
        return tree_map(lambda leaf: FakeTensor(self, leaf, device) if isinstance(leaf, Tensor) else leaf, result)

    def _known(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        fake = self.from_tensor(tensor)
        fake.constant = tensor
        return fake

    def _check(self, func: Any, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            if isinstance(tensor, FakeTensor):
                if tensor.fake_mode is not self:
                    raise AssertionError("Mixing fake modes NYI")
            elif not self.allow_non_fake_inputs:
                texts = ", ".join(repr(leaf) if isinstance(leaf, FakeTensor) else "tensor([...])" for leaf in tensors)
                raise AssertionError(_NOT_FAKE.format(func, texts))

    def _device_of(self, func: Any, kwargs: Kwargs, tensors: Iterable[Tensor]) -> devices.device:
        """The device of the results: the one asked for, or that of the tensors; a number on the CPU goes with any."""
        target = kwargs.get("device")
        if target is not None:
            return target if isinstance(target, devices.device) else devices.as_device(target)  # pyright: ignore[reportArgumentType]
        common: devices.device | None = None
        is_number = False
        for tensor in tensors:
            own, number = tensor.device, not tensor.dim() and tensor.device.type == "cpu"
            if common is None or (is_number and own != common):
                common, is_number = own, number
            elif own != common and not number:
                raise RuntimeError(
                    f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {common}, {own}"
                )
            else:
                is_number = is_number and number
        return devices.default_device() if common is None else common


def _meta(tensor: Tensor) -> Tensor:
    """A tensor on the meta device of the same shape, dtype and strides."""
    if type(tensor)._aval is Tensor._aval and tensor._aval.placement is META:
        return alias(tensor)
    if tensor.is_contiguous():
        return from_value(Value.without_data(Aval(tensor._aval.shape, tensor._aval.dtype, META)))
    size = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    base: Any = from_value(Value.without_data(Aval((max(size, 0),), tensor._aval.dtype, META)))
    return base.as_strided(tuple(tensor.shape), tensor.stride())


def is_fake(x: object) -> bool:
    """Whether it is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode that a fake tensor belongs to; None of others."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


class unset_fake_temporarily:
    """A context in which no fake mode of this thread is active."""

    def __enter__(self) -> FakeTensorMode | None:
        self._before = dispatch_state.stack
        dispatch_state.stack = tuple(mode for mode in self._before if not isinstance(mode, FakeTensorMode))
        return next((mode for mode in self._before if isinstance(mode, FakeTensorMode)), None)

    def __exit__(self, *exception: object) -> None:
        dispatch_state.stack = self._before
