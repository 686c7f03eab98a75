"""What the classes and decorators of PyTorch's tests ask for by name and torchlike lacks. Nothing of it is what a test tests.

A name that torchlike has is left as it is. What is `absent` raises an error as soon as a test uses it.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from typing import Any

Value = Any


def absent(address: str) -> Value:
    """Stands for a function that some test uses and others do not."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"absent: torchlike has no {address}")

    refuse.__name__ = address.rpartition(".")[2]
    return refuse


def _nothing(*args: object, **kwargs: object) -> None:
    """Does nothing."""


def _decorator(*args: object, **kwargs: object) -> Value:
    return lambda function: function


class Operator:
    """The base class of an operator of higher order that a test file declares when it is imported; calls raise."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def py_impl(self, *args: object) -> Value:
        return lambda function: function

    fallthrough = py_autograd_impl = py_functionalize_impl = py_impl
    __call__ = absent("torch._ops.HigherOrderOperator")


_STATE = type("_TorchFunctionState", (), {"ENABLED": 0, "SUBCLASSES_DISABLED": 1, "ALL_DISABLED": 2})

# (module, names, value, why)
GIVEN: list[tuple[str, str, Value, str]] = [
    ("torch.backends", "disable_global_flags", _nothing, "common_utils calls it when imported"),
    ("torch.cpu", "get_capabilities", dict, "common_utils asks which instructions there are"),
    ("torch._C", "_get_cpu_capability", lambda: "AVX2", "the same"),
    ("torch._C", "_TorchFunctionState", _STATE, "TestCase compares it before and after each test"),
    ("torch._C", "_get_torch_function_state", lambda: 0, "the same"),
    ("torch._C", "_set_torch_function_state", _nothing, "the same"),
    ("torch._C", "_jit_set_emit_hooks _jit_clear_class_registry _jit_set_emit_module_hook", _nothing, "set-up of FX's tests"),
    ("torch._C", "_jit_get_emit_hooks", lambda: (None, None), "the same"),
    ("torch._C", "has_lapack has_spectral", True, "decorators skip tests without them"),
    ("torch._C", "_DisableTorchDispatch _DisableFuncTorch", contextlib.nullcontext, "freeze_rng_state holds one"),
    ("torch._inductor.utils", "GPU_TYPES", ["cuda", "mps", "xpu", "mtia"], "common_device_type imports it"),
    ("torch.cuda.jiterator", "_create_jit_fn _create_multi_output_jit_fn", lambda *a, **k: _nothing, "op_db makes CUDA functions"),
    ("torch.backends.python_native", "available_dsls", [], "op_db lists them"),
    ("torch._logging.scribe", "open_source_signpost", _nothing, "common_utils reports with it"),
    ("torch._export.wrappers", "mark_subclass_constructor_exportable_experimental", lambda c: c, "two_tensor decorates with it"),
    ("torch", "_nnpack_available", lambda: False, "a decorator of test_convolution asks"),
    ("torch", "_mkldnn", types.SimpleNamespace(), "a parameter in test_convolution names it"),
    ("torch._dynamo.utils", "disable_cache_limit", _decorator, "a decorator of test_nestedtensor"),
    ("torch._ops", "HigherOrderOperator", Operator, "test_eager_transforms derives from it"),
    ("torch.autograd.forward_ad", "_current_level", -1, "test_autograd ends the levels that are left"),
    ("torch.utils.deterministic", "fill_uninitialized_memory", True, "DeterministicGuard sets it and sets it back"),
    ("torch.utils._foreach_utils", "_get_foreach_kernels_supported_devices", lambda: ["cuda", "xpu"], "common_optimizers asks"),
    ("torch.utils._foreach_utils", "_get_fused_kernels_supported_devices", lambda: ["cuda", "xpu", "cpu"], "the same"),
    ("torch._lazy.ts_backend", "init", _nothing, "common_device_type calls it"),
    ("torch._utils", "_element_size", lambda dtype: dtype.itemsize, "tests compute with it what they expect"),
    ("torch.jit._recursive", "ConcreteTypeStore", _nothing, "FX's tests make one at the end"),
    ("torch.jit._recursive", "concrete_type_store", None, "the same"),
    ("torch.jit._state", "_clear_class_state", _nothing, "the same"),
    ("torch.fx._compatibility", "_BACK_COMPAT_OBJECTS _MARKED_WITH_COMPATIBILITY", {}, "test_fx imports them"),
    ("torch._prims_common", "corresponding_complex_dtype", lambda dtype: dtype.to_complex(), "tests of FFTs make their inputs with it"),
    ("torch.utils._dtype_abbrs", "dtype_abbrs", {}, "logging_tensor imports it"),
]  # fmt: skip

# Functions that a test file imports and only some of its tests use.
ABSENT = {
    "functorch": "make_fx",
    "torch._functorch.eager_transforms": "_slice_argnums",
    "torch.utils.tensorboard._convert_np": "make_np",
    "torch.utils.tensorboard._pytorch_graph": "graph",
    "torch.utils.tensorboard._utils": "_prepare_video convert_to_HWC",
    "torch.utils.tensorboard.summary": "int_to_half tensor_proto",
    "torch._C._nn": "gelu_",
}

# Dtypes that the harness lists and torchlike may lack, by the kind of their elements and their size.
DTYPES = {
    "complex32": ("complex64", 4), "chalf": ("complex64", 4), "float8_e4m3fnuz": ("float32", 1), "float8_e5m2fnuz": ("float32", 1),
    "float8_e8m0fnu": ("float32", 1), "float4_e2m1fn_x2": ("float32", 1),
    **dict.fromkeys(["quint4x2", "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"], ("int64", 1)),
    **{f"{kind}{n}": ("int64", 1) for n in range(1, 8) for kind in ("int", "uint")},
}  # fmt: skip


def _has(holder: Value, name: str) -> bool:
    try:
        found = getattr(holder, name)
    except (AttributeError, NotImplementedError, ImportError):
        return False
    made = [found, found.__new__, found.__init__] if isinstance(found, type) else [found]  # what refuses to be used
    return not any("stand_ins" in str(getattr(getattr(each, "__code__", None), "co_filename", "")) for each in made)


def install(torch: Value) -> None:
    """Puts the names where the harness looks for them."""
    for module, names, value, _ in GIVEN:
        holder = importlib.import_module(module)
        for name in names.split():
            if not _has(holder, name):
                setattr(holder, name, value)
    for module, names in ABSENT.items():
        holder = torch._C._nn if module == "torch._C._nn" else importlib.import_module(module)
        for name in names.split():
            if not _has(holder, name):
                setattr(holder, name, absent(f"{module}.{name}"))
    for name, (kind, size) in DTYPES.items():
        if not isinstance(getattr(torch, name, None), torch.dtype):
            setattr(torch, name, _absent_dtype(torch, name, kind, size))
    sys.modules["torchvision"] = None  # pyright: ignore[reportArgumentType]  # as where PyTorch runs them
    _package(torch)
    for name in (
        "torch.nn.modules",
        "torch.ao.nn.qat.modules",
        "torch.ao.nn.quantizable.modules",
        "torch.ao.nn.quantized.modules",
    ):
        _list_modules(torch, importlib.import_module(name))
    torch.ops.mkldnn._is_mkldnn_acl_supported = lambda: False
    torch.jit.TracerWarning.ignore_lib_warnings = staticmethod(_nothing)
    load = torch.ops.load_library  # FX's tests load a compiled library of PyTorch's own
    torch.ops.load_library = lambda path: None if "libtorchbind_test" in path else load(path)
    if not isinstance(getattr(torch.fft, "__all__", None), (list, tuple)):
        torch.fft.__all__ = [name for name, value in vars(torch.fft).items() if callable(value) and name[0] != "_"]


def _package(torch: Value) -> None:
    package: Value = types.ModuleType("functorch.experimental")
    package.__path__ = []
    package.control_flow = types.SimpleNamespace(cond=absent("control_flow.cond"), map=absent("control_flow.map"))
    package.functionalize = torch.func.functionalize
    package.replace_all_batch_norm_modules_ = getattr(torch.func, "replace_all_batch_norm_modules_", None)
    sys.modules["functorch.experimental"] = package


def _list_modules(torch: Value, module: Value) -> None:
    if isinstance(vars(module).get("__all__"), (list, tuple)):
        return
    source = torch.nn if module.__name__ == "torch.nn.modules" else module
    found = {k: v for k, v in vars(source).items() if isinstance(v, type) and issubclass(v, torch.nn.Module)}
    for name, value in found.items():
        vars(module).setdefault(name, value)
    module.__all__ = list(found)


def _absent_dtype(torch: Value, name: str, kind: str, size: int) -> Value:
    like = getattr(torch, kind)

    class Absent(torch.dtype):
        __slots__ = ()

        def __init__(self) -> None:
            self.name = self.scalar_name = name
            self.category, self.itemsize, self.is_signed = like.category, size, True
            self.is_floating_point, self.is_complex = like.is_floating_point, like.is_complex

        @property
        def numpy(self) -> Value:
            raise NotImplementedError(f"absent: torchlike has no dtype torch.{name}")

    return Absent()
