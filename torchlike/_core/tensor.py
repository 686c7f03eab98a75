"""class Tensor: its fields and properties. Its operations are declared in ``ops/``, and ``_namespace/_bind.py`` adds them to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.aval import META, Aval, MappedAval, Meshed, TracedAval
from ..engine.checks import raise_failed
from ..engine.value import Unreadable, Value
from . import devices, dtypes
from .attributes import FIELDS, Fields, Instance, UsersAttributes, new
from .layouts import sparse_coo, sparse_csr
from .meta import on_meta, refuse_item
from .modes import NO_LEAF, SWITCHING, carries, modes, no_bool, refuse_in_transform, refuse_other_memory, tangent_shown
from .node import AccumulateGrad, Node, RemovableHandle
from .overridable import meet
from .printing import format_tensor, format_without_data
from .size import Size, pick, tensor_meta, wrap_dim as wrap_dim
from .sparse import FORMS, is_sparse
from .storage import DetachedStorage, Storage
from .strided import Strided, whole
from .views import View

if TYPE_CHECKING:
    from .layouts import memory_format as MemoryFormat
    from .tensor_methods import TensorMethods  # pyright: ignore[reportMissingModuleSource]  # a generated stub
else:
    TensorMethods = Instance

__all__ = ["Tensor"]

_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite "
    "what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report."
)
_NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please file an "
    "issue at https://github.com/pytorch/pytorch/issues ."
)


class Tensor(TensorMethods, Fields):
    """A multi-dimensional array with a gradient history.

    Tensors are made by functions such as ``torch.tensor``, ``torch.zeros`` and by operations.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sum()
    tensor(10.)
    """

    _storage: Storage
    _view: View | None
    _grad: Tensor | None
    # Beside the fields that all tensors have (``attributes.py``):
    _outer_device: devices.device  # of an object without memory of a subclass: see ``subclasses.py``
    _empty_tensor: Tensor  # of a parameter that has no shape yet: see ``nn/parameter.py``
    _variable: Any  # a weak reference to flax's Variable for this tensor: see ``nn/_graph.py``

    _fields = frozenset({*FIELDS, *__annotations__})

    @property
    def __dict__(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The attributes that a program has set on this tensor."""
        return UsersAttributes(self)  # pyright: ignore[reportArgumentType]  # at run time ``TensorMethods`` is Instance

    @__dict__.setter
    def __dict__(self, attributes: dict[str, object]) -> None:
        if not isinstance(attributes, dict):
            raise TypeError(f"__dict__ must be set to a dictionary, not a '{type(attributes).__name__}'")
        attributes, current = dict(attributes), self.__dict__
        current.clear()
        current.update(attributes)

    # Other files set these (see ``_namespace/_bind.py`` and ``subclasses.py``).
    _refresh_history: Callable[[], None]  # gives a view its new history after its base was written to
    _copied_by_its_class: Callable[[dict[int, Any]], Tensor | None]  # the deep copy of one of a subclass without memory
    _copy_attributes: Callable[[Tensor, dict[int, Any]], None]

    # ---- what it is

    @property
    def _aval(self) -> Aval:
        view = self._view
        return self._storage.value.aval if view is None else view.value.aval

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return tensor_meta(self._aval).size

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        size = tensor_meta(self._aval).size
        return size if dim is None else pick("size", size, dim)

    @property
    def dtype(self) -> dtypes.dtype:
        return tensor_meta(self._aval).dtype

    @property
    def device(self) -> devices.device:
        return tensor_meta(self._aval).device

    @property
    def ndim(self) -> int:
        return len(self._aval.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._aval.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element takes."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_mps(self) -> bool:
        return self.device.type == "mps"

    @property
    def is_meta(self) -> bool:
        return on_meta(self)

    is_quantized = is_mkldnn = is_nested = False
    is_xpu = is_xla = is_ipu = is_maia = is_mtia = is_vulkan = volatile = False

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is ``torch.sparse_coo``."""
        return is_sparse(self) and self._aval.layout is sparse_coo  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is ``torch.sparse_csr``."""
        return is_sparse(self) and self._aval.layout is sparse_csr  # pyright: ignore[reportAttributeAccessIssue]

    def get_device(self) -> int:
        """The number of the device; -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_distributed(self) -> bool:
        """False: torchlike has no counterpart of the old distributed tensors that PyTorch means here."""
        return False

    def is_same_size(self, other: Tensor) -> bool:
        """Whether another tensor has the same shape."""
        return self._aval.shape == other._aval.shape

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        return self._inference

    # ---- where it lies

    @property
    def _geometry(self) -> Strided:
        if self._view is None:
            if is_sparse(self):
                raise RuntimeError("Sparse tensors do not have strides")
            return whole(self._aval.shape)
        return self._view.geometry(self._storage)

    def stride(self, dim: int | None = None) -> Any:
        """Elements to step over in memory for each dimension, or for one."""
        strides = self._geometry.strides
        return strides if dim is None else pick("stride", strides, dim)

    def storage_offset(self) -> int:
        """Where in the storage the first element lies, in elements."""
        return self._geometry.offset

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> bool:
        """Whether the elements lie in memory in the order of the last dimension first."""
        order = None if memory_format is None else memory_format.order
        if order is not None and len(order) == self.dim():
            return self._geometry.transpose(order).in_order
        if self._view is None:
            return order is None and not is_sparse(self)
        return order is None and self._geometry.contiguous

    def data_ptr(self) -> int:
        """The address of the first element, 0 if there is none: see ``UntypedStorage.data_ptr``.

        The memory there holds the elements as long as the tensor's storage lives: what torchlike writes in place is copied there,
        and what is written there is seen by torchlike. That costs a copy, and from then on a comparison whenever it is read.

        >>> import ctypes
        >>> x = torch.tensor([1, 2], dtype=torch.uint8)
        >>> ctypes.string_at(x.data_ptr(), 2)
        b'\\x01\\x02'

        Raises:
            NotImplementedError: the tensor is not on the CPU.
        """
        if not self.numel() or on_meta(self):
            return 0
        if is_sparse(self) or (self._tracked and any(d.leads_here(self) for d in modes.derivatives)):
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return address_of(self._storage.root) + self.storage_offset() * self.dtype.itemsize

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether both are the same elements of the same storage."""
        geometry, other_geometry = self._geometry, tensor._geometry
        return self._storage.root is tensor._storage.root and (geometry.shape, geometry.strides, geometry.offset) == (
            other_geometry.shape,
            other_geometry.strides,
            other_geometry.offset,
        )

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._storage.version

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._base is not None

    def _value(self) -> Value:
        """The current value. For a view whose base was written to, this also updates its history."""
        view = self._view
        if view is None:
            return self._storage.read()
        if view.version != self._storage.version and view.base is not None:
            self._refresh_history()
        return view.read(self._storage)

    # ---- gradients

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded for ``backward``.

        Of a view also whether its base wants a gradient; through one that was made under ``no_grad``, or before its base wanted one,
        none comes back.
        """
        if self._tracked or self._view is None:
            return self._requires_grad
        base = self._view.base
        return base is not None and base._requires_grad

    @property
    def _tracked(self) -> bool:
        """Whether a gradient can reach this tensor: its own flag, which is updated first for a view."""
        if self._view is not None:
            self._value()
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        if on and self.dtype.category < dtypes.FLOAT:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self._require_grad(on)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switches recording for this leaf; returns the tensor itself.

        Raises:
            RuntimeError: the dtype is not floating point or complex, the tensor is not a leaf and it is switched off, or the call is
                within a function that ``torch.func`` transforms.
            TypeError: what is given is no bool.
        """
        refuse_in_transform(SWITCHING, "requires_grad_()")
        return self._require_grad(requires_grad)

    def _require_grad(self, requires_grad: bool = True) -> Tensor:
        """``requires_grad_``, also within a transform."""
        if requires_grad.__class__ is not bool:
            raise no_bool(requires_grad)
        if requires_grad and self.dtype.category < dtypes.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(NO_LEAF)
        elif requires_grad and self._inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        else:
            self._requires_grad = bool(requires_grad)
            if self._accumulator is not None:
                self._accumulator.switch(self._requires_grad)
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor, or None for a leaf."""
        if self._view is not None:
            self._value()
            if self._view.refused is not None:
                raise RuntimeError(self._view.refused)
            self._view.has_node = self._view.has_node or self._grad_fn is not None
        return self._grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` has accumulated here, or None."""
        if self._grad is None and not self._retains_grad and self._grad_fn is not None:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
                "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None:
            if not isinstance(grad, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}"
                )
            if grad is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if grad.dtype is not self.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{dtypes.C_NAMES[grad.dtype.name]}' to a tensor "
                    f"with grad_dtype '{self.dtype.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to "
                    "the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
                    "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
                    "downstream systems that assume they match."
                )
            if grad.device.type != self.device.type:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor with device type "
                    f"'{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
                )
            if grad.device is not self.device:
                raise RuntimeError(
                    f"attempting to assign a gradient located on device '{grad.device}' to a tensor located on device "
                    f"'{self.device}'. Please ensure that the gradient and the tensor are on the same device"
                )
            if grad.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size '{list(self.shape)}'. "
                    "Please ensure that the gradient and the tensor are the same size"
                )
        self._grad = grad

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        return self._retains_grad

    def _set_history(self, node: Node, output_nr: int = 0) -> None:
        """Makes this tensor the output with this number of a node. (``dispatch/apply.py`` does so without the call.)"""
        self._grad_fn, self._output_nr, self._requires_grad = node, output_nr, True
        if self._view is not None:
            self._view.has_node = True

    def _rewrite_history(self, node: Node | None, output_nr: int) -> None:
        """As ``_set_history``, after a write in place: the old accumulator no longer leads to this tensor."""
        self._grad_fn, self._output_nr, self._requires_grad = node, output_nr, True
        self._accumulator = None
        if self._view is not None:
            self._view.has_node = True

    def _share_history(self, other: Tensor) -> None:
        """Gives this tensor the history of another one: its own accumulator no longer leads to it."""
        self._grad_fn, self._output_nr, self._requires_grad = other._grad_fn, other._output_nr, other._requires_grad
        self._accumulator = None
        if self._view is not None:
            self._view.has_node = True

    def _keep_history(self) -> None:
        """Lets a leaf that got another shape in place, while no gradients were recorded, take gradients of that shape."""
        if self._accumulator is not None:
            self._accumulator.avals = (self._aval,)

    def _drop_history(self) -> None:
        """Makes this tensor a leaf that requires no gradient."""
        self._grad_fn, self._output_nr, self._requires_grad = None, 0, False

    def _edge(self) -> tuple[Node, int]:
        """Where gradients for this tensor go: the node that made it, or the accumulator of a leaf."""
        if self._grad_fn is not None:
            if self._view is not None:
                self._view.has_node = True
            return self._grad_fn, self._output_nr
        if self._view is not None and self._view.refused is not None:
            raise RuntimeError(self._view.refused)
        if self._accumulator is None:
            self._accumulator = AccumulateGrad.of(self, self._aval)
            if not self._requires_grad:  # a base whose view has a history all the same
                self._accumulator.switch(False)
        return self._accumulator, 0

    def retain_grad(self) -> None:
        """Makes ``backward`` keep this tensor's gradient in ``grad``, although it is not a leaf."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is not None and not self._retains_grad:
            import weakref

            refuse_in_transform("retain_grad()", "retain_grad()")
            self._retains_grad = True
            node.retained = node.retained or {}
            node.hooked = True
            node.retained[self._output_nr] = weakref.ref(self)

    def register_hook(self, hook: object) -> RemovableHandle:
        """Calls ``hook(grad)`` whenever this tensor's gradient is computed; what it returns, if not None, replaces the gradient.

        Raises:
            RuntimeError: the tensor does not require a gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, number = self._edge()
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
            node.hooked = True
        return RemovableHandle(node.tensor_hooks.setdefault(number, {}), hook)

    @property
    def _backward_hooks(self) -> dict[int, Callable[..., object]] | None:
        """The hooks by handle, or None if there are none."""
        node = self._accumulator if self.grad_fn is None else self._grad_fn
        return node.tensor_hooks.get(self._output_nr) if node is not None and node.tensor_hooks else None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict[int, Callable[..., object]] | None) -> None:
        node, number = self._edge()
        node.tensor_hooks = {} if node.tensor_hooks is None else node.tensor_hooks
        if hooks is None:
            node.tensor_hooks.pop(number, None)
        else:
            node.tensor_hooks[number], node.hooked = hooks, True

    def register_post_accumulate_grad_hook(self, hook: object) -> RemovableHandle:
        """Calls ``hook(tensor)`` each time after a gradient was added to this leaf's ``grad``."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = {}
        return RemovableHandle(self._post_accumulate_hooks, hook)

    @property
    def data(self) -> Tensor:
        """The same memory without history. Writing to it is not noticed by autograd."""
        detached = alias(self)
        detached._storage = DetachedStorage(self._storage)
        detached._inference = self._inference
        if modes.vmaps and self._aval.__class__ is MappedAval and modes.vmaps[-1].derivatives == len(modes.derivatives):
            raise RuntimeError("accessing `data` under vmap transform is not allowed")
        if modes.derivatives and self._tracked:
            return modes.derivatives[-1].data_of(self, detached)
        return detached

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        if self.dtype.category >= dtypes.FLOAT and new.dtype.category < dtypes.FLOAT and self._requires_grad:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if on_meta(self) is not on_meta(new) or is_sparse(self) is not is_sparse(new):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
            )
        refuse_other_memory(self, new)
        before = self._aval
        self._storage, self._view = new._storage, new._view and new._view.rebased(None)
        if (after := self._aval).dtype != before.dtype or after.placement is not before.placement:
            # Gradients of another dtype need another accumulator. With the same dtype, graphs made before still lead to this leaf.
            self._leave_graphs()

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def _leave_graphs(self) -> None:
        """Gives a leaf another accumulator: the graphs made before no longer lead to it. Its hooks stay."""
        if (former := self._accumulator) is not None:
            self._accumulator = AccumulateGrad.of(self, self._aval)
            self._accumulator.take_hooks(former, self._requires_grad)

    # ---- reading it on the host

    def _array(self) -> np.ndarray:
        """The elements as a NumPy array nobody may write to."""
        return self._value().numpy()

    def item(self) -> Any:
        """The only element as a Python number.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        view, storage = self._view, self._storage
        # As ``_value`` does, without the call: a loop may read many elements.
        value = storage.value if view is None and storage.host is None else self._value()
        array = value.array
        if array.__class__ is np.ndarray and array.size == 1 and array.dtype.kind != "V":
            raise_failed()
            return array.item()
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        refuse_item(self)
        try:
            array = value.numpy()
        except Unreadable:
            raise RuntimeError(_NO_ITEM) from None
        item = array.item()
        return item if array.dtype.kind != "V" else float(item)

    def tolist(self) -> Any:
        """The elements as nested Python lists; a number for a 0-dimensional tensor.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        array = self._array()
        return (array if array.dtype.kind != "V" else array.astype(np.float32)).tolist()  # "V": NumPy has no such dtype

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A NumPy array that shares the tensor's memory: writing to either is seen in both.

        Args:
            force: detach and copy to the CPU first where that is needed.

        Raises:
            RuntimeError: the tensor requires a gradient, and gradients are recorded. TypeError: it is not on the CPU, or NumPy has
                no such dtype.
        """
        if force:
            plain = alias(self) if self.requires_grad else self
            return plain._on_cpu().resolve_conj().resolve_neg().numpy()  # pyright: ignore[reportAttributeAccessIssue]
        if modes.grad_enabled and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        if self.dtype.numpy.kind == "V":
            raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")
        if self.is_conj():  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError(
                "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."
            )
        if self.is_neg():  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError(
                "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead."
            )
        if is_sparse(self):
            raise TypeError(
                f"can't convert Sparse{'' if self.is_sparse else 'Csr'} layout tensor to numpy. Use Tensor.to_dense() first."
            )
        geometry, dtype = self._geometry, self.dtype.numpy
        memory, token = self._storage.share()
        if memory.size == 0:
            return np.empty(self.shape, dtype)
        # Its base is the token, which tells when the last view of it is gone. view_as_real sees complex memory as pairs.
        flat = np.asarray(token).reshape(-1).view(dtype)
        step = dtype.itemsize
        offset = 0 if 0 in geometry.shape else geometry.offset * step  # no elements may lie behind the memory
        return np.ndarray(geometry.shape, dtype, flat, offset, [s * step for s in geometry.strides])

    def _on_cpu(self) -> Tensor:
        return self if self.is_cpu else from_value(Value.on_host(self._array()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: np.ndarray, context: object = None, return_scalar: bool = False) -> Tensor:
        """What NumPy's functions of tensors return, as a tensor: ``numpy.sqrt(x)``. Truth values become integers, as in PyTorch."""
        return from_host(np.array(array, np.uint8 if array.dtype == np.bool_ else array.dtype, order="C"))

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """A dlpack capsule: of the memory that NumPy would share where NumPy has the dtype, else of JAX's array.

        Raises:
            BufferError: the tensor requires a gradient.
        """
        self._check_export()
        if self.is_cpu and self.dtype.numpy.kind != "V":
            return self.numpy().__dlpack__(stream=None if stream == -1 else stream, **options)
        return self.jax.__dlpack__(stream=stream, **options)

    def _check_export(self) -> None:
        """Raises PyTorch's errors for tensors whose memory another library must not get."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_conj():  # pyright: ignore[reportAttributeAccessIssue]
            raise BufferError("Can't export tensors with the conjugate bit set")
        if on_meta(self):
            raise BufferError("Cannot pack tensors on meta")

    def __dlpack_device__(self) -> tuple[object, int]:
        if on_meta(self):
            raise BufferError("Cannot pack tensors on meta")
        return (1, 0) if self.is_cpu else self.jax.__dlpack_device__()

    __array_priority__ = 1000  # ``ndarray + tensor`` calls the tensor's method

    def __jax_array__(self) -> Any:
        return self._value().jax()

    @property
    def jax(self) -> Any:
        """The elements as a ``jax.Array``."""
        return self._value().jax()

    def __bool__(self) -> bool:
        count = self.numel()
        if count == 1:
            refuse_item(self)
            try:
                return bool(self._array().reshape(())[()])
            except Unreadable:
                raise RuntimeError(_NO_BRANCH) from None
        if count == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def _number(self) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __int__(self) -> int:
        return int(_real(self._number(), "int64_t"))

    def __float__(self) -> float:
        return float(_real(self._number(), "double"))

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self.dtype.category > dtypes.INTEGER or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        shape = self._aval.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._aval.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self._rows())  # pyright: ignore[reportAttributeAccessIssue]  # bound by _bind.py

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, element: object) -> bool:
        if isinstance(element, (Tensor, int, float, complex)):
            return bool((self == element).any())  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    # ---- showing and copying it

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return FORMS["in a transform"](self) if modes.derivatives or modes.vmaps else self._shown()

    def _shown(self, plain: bool | None = None) -> str:
        """The text of the tensor. ``plain``: whether it begins as that of a tensor, and not of a subclass."""
        meta = tensor_meta(self._aval)
        try:
            node = self.grad_fn
            grad_fn = None if node is None else node.label
        except RuntimeError:  # a view that has lost its history
            grad_fn = "Invalid"
        if on_meta(self):
            return format_without_data(
                meta.size,
                dtype_name=meta.dtype.name,
                default_dtype_name=dtypes.get_default_dtype().name,
                requires_grad=self.requires_grad,
                grad_fn=grad_fn,
            )
        kind = type(self)
        if plain is None:
            plain = kind is Tensor
        prefix = "tensor(" if plain else f"{kind.__name__}("
        if is_sparse(self):
            return FORMS["__repr__"](self, prefix)
        if isinstance(self._aval.placement, Meshed) and "on a mesh" in FORMS:
            return FORMS["on a mesh"](self)
        text = format_tensor(
            self._array(),
            prefix=prefix,
            dtype_name=meta.dtype.name,
            default_dtype_name=dtypes.get_default_dtype().name,
            default_complex_name=dtypes.get_default_dtype().to_complex().name,
            device=str(meta.device),
            requires_grad=self.requires_grad,
            grad_fn=grad_fn,
            tangent=tangent_shown(self),
        )
        return f"Parameter({text})" if self._is_param and not plain else text

    def __format__(self, spec: str) -> str:
        if self.dim() == 0 and type(self) is Tensor and not on_meta(self):
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __copy__(self) -> Tensor:
        copy = alias(self, type(self))
        copy._requires_grad = self.requires_grad
        copy.__dict__.update(self.__dict__)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
                "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if type(self) is not Tensor:
            copy = self._copied_by_its_class(memo)
            if copy is not None:
                return copy
        copy = new(type(self))
        key = id(self._storage.root)
        storage = memo.get(key)
        if storage is None:
            # Values are immutable, so the copy's own storage shares the value.
            storage = memo[key] = Storage(self._storage.read().fresh())
        copy._storage = storage
        if self._view is not None:
            copy._view = View(self._view.steps, self._value(), -1, None, self._view.origin, storage.version)
        memo[id(self)] = copy
        copy._requires_grad = self.requires_grad
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        self._copy_attributes(copy, memo)
        return copy

    def __reduce_ex__(self, protocol: object) -> tuple[object, tuple[object, ...]]:
        if on_meta(self):
            return _rebuild_meta, (type(self), self._aval.shape, self.dtype, self.requires_grad, dict(self.__dict__))
        if is_sparse(self):
            return FORMS["__reduce__"](self)
        return _rebuild, (type(self), self._array(), self.device, self.requires_grad, dict(self.__dict__))


def _rebuild(
    cls: type[Tensor], array: np.ndarray, device: devices.device, requires_grad: bool, attributes: Mapping[str, object]
) -> Tensor:
    meet(cls)
    tensor = new(cls)
    tensor._storage = Storage(Value.on_host(array, devices.placement(device)))
    tensor._requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def _rebuild_meta(
    cls: type[Tensor],
    shape: tuple[int, ...],
    dtype: dtypes.dtype,
    requires_grad: bool,
    attributes: Mapping[str, object],
) -> Tensor:
    tensor = new(cls)
    tensor._storage = Storage(Value.without_data(Aval(shape, dtype.numpy, META)))
    tensor._requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def from_value(value: Value) -> Tensor:
    """A new tensor with this value."""
    tensor = new(Tensor)
    tensor._storage = Storage(value)
    return tensor


def records(*tensors: Tensor) -> bool:
    """Whether an operation on these tensors is recorded for ``backward``, or has a tangent."""
    return (modes.grad_enabled and any(tensor._requires_grad for tensor in tensors)) or carries(*tensors)


def from_storage(storage: Storage) -> Tensor:
    """A tensor over all of a storage."""
    tensor = new(Tensor)
    tensor._storage = storage
    return tensor


def address_of(storage: Storage) -> int:
    """The address of a storage's memory on the host."""
    aval = storage.value.aval
    if aval.placement is META:
        return 0
    if isinstance(aval, TracedAval):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
    if aval.placement.platform != "cpu":
        raise NotImplementedError(
            f"torchlike cannot give the address of memory on {devices.of_placement(aval.placement)}: JAX moves it. To tell whether "
            "tensors share memory, compare their untyped_storage()"
        )
    return storage.address()


def from_host(array: np.ndarray) -> Tensor:
    """A CPU tensor over a NumPy array that becomes the tensor's own: nobody may write to it afterwards. No copy is made."""
    return from_value(Value.on_host(np.asarray(array)))  # arithmetic on 0-dimensional arrays gives scalars


def alias(tensor: Tensor, cls: type[Tensor] = Tensor) -> Tensor:
    """A tensor over the same memory, without history."""
    if cls is not Tensor:
        meet(cls)
    result = new(cls)
    result._storage = tensor._storage
    view = tensor._view
    if view is not None:
        result._view = view.rebased(None)
    return result


def _real(number: object, c_name: str) -> Any:
    """A number that Python may turn into a float or an int: of a complex number its real part, if the imaginary part is zero."""
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")
        return number.real
    return number
