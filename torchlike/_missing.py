"""The error for a name that a namespace lacks: it says whether PyTorch has the name, and which names are similar."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["explain_missing", "explain_missing_in", "missing", "pytorch_names", "stand_in_by", "when_loaded"]


@cache
def pytorch_names() -> dict[str, Any]:
    """PyTorch's public names by namespace, and under "version" the PyTorch they were recorded from."""
    packed = (
        Path(__file__).with_name("_alias") / "pytorch_modules.json.xz"
    )  # among PyTorch's modules, where they take a third of the room
    recorded = json.loads(lzma.decompress(packed.read_bytes()))
    return {"version": recorded["version"], **{name: names.split() for name, names in recorded["public"].items()}}


class _Under:
    alias: Callable[[str, str], object] | None = None  # what finds stand-ins where ``import torch`` means torchlike
    # Is called with a name that a module got when it was first asked for.
    loaded: Callable[[str, str, object], object] | None = None


def stand_in_by(find: Callable[[str, str], object]) -> None:
    """From now on ``find(module, name)``, with PyTorch's name for the module, says what a name means that is not there."""
    _Under.alias = find


# Modules that ``import torch`` loads and few programs use: they are imported on first access.
_MODULES = [
    "_C", "_VF", "_linalg_utils", "_utils", "ao", "quantization", "__future__", "_dynamo", "_inductor", "_logging", "classes", "cpu",
    "export", "futures", "fx", "monitor", "library", "mps", "mtia", "nested", "onnx", "functional", "overrides", "storage", "types", "xpu",
]  # fmt: skip
LATER: dict[str, frozenset[str]] = {
    "torchlike.distributed": frozenset({"checkpoint", "constants", "elastic", "fsdp", "rpc", "tensor"}),
    "torchlike.distributed.checkpoint": frozenset({"state_dict", "stateful"}),
    "torchlike.distributed.fsdp": frozenset({"api", "fully_sharded_data_parallel", "wrap"}),
    "torchlike.distributed.tensor": frozenset({"parallel"}),
    "torchlike": frozenset(_MODULES),
    "torchlike.ao": frozenset({"nn", "quantization"}),
    "torchlike.ao.nn": frozenset({"intrinsic", "qat", "quantized"}),
    "torchlike.ao.nn.intrinsic": frozenset({"qat", "quantized"}),
    "torchlike.ao.nn.quantized": frozenset({"dynamic"}),
    "torchlike.cuda": frozenset({"graphs", "nccl", "nvtx", "profiler"}),
    "torchlike.utils": frozenset({"weak", "_foreach_utils", "_triton", "_python_dispatch", "collect_env", "dlpack"}),
    "torchlike.utils.data": frozenset({"_utils", "datapipes"}),
}


_STORAGES = [
    "BFloat16", "Bool", "Byte", "Char", "ComplexDouble", "ComplexFloat", "Double", "Float", "Half", "Int", "Long",
    "Short",
]  # fmt: skip
# Functions and classes that few programs use, by their namespace: the module that has each, imported when it is first asked for.
_BY_MODULE = {
    "_VF": """
        _amp_foreach_non_finite_check_and_unscale_ addmv_ alpha_dropout_ as_strided_ binary_cross_entropy_with_logits convolution
        cosine_embedding_loss dropout_ embedding_renorm_ feature_alpha_dropout_ feature_dropout_ frobenius_norm get_device
        hinge_embedding_loss index_put_ is_distributed is_inference is_same_size is_signed kl_div margin_ranking_loss native_dropout
        norm_except_dim nuclear_norm poisson_nll_loss rrelu_ to_dlpack triplet_margin_loss""",
    "_higher_order_ops": "cond while_loop",
    "_linalg_utils": "eig lstsq matrix_rank solve symeig",
    "_namespace._symbolic": """
        SymBool SymFloat SymInt sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum""",
    "_namespace._introspection": """
        AcceleratorError FatalError
        classproperty compiled_with_cxx11_abi get_device_module has_cuda has_cudnn has_lapack has_mkl has_mkldnn has_mps has_openmp
        has_spectral init_num_threads is_anomaly_check_nan_enabled is_anomaly_enabled is_warn_always_enabled set_anomaly_enabled
        set_flush_denormal set_warn_always thread_safe_generator typename""",
    "_core.torch_function": "DisableTorchFunction DisableTorchFunctionSubclass",
    "amp.autocast_mode": """
        autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache is_autocast_cache_enabled set_autocast_cache_enabled
        set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "export": "export_jax",
    "jit": "fork wait",
    "ops.creation.sampled": "_standard_gamma",
    "storage": " ".join(f"{name}Storage" for name in ("", *_STORAGES)),
}
_FULLY_SHARDED = """
    BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel LocalOptimStateDictConfig
    LocalStateDictConfig MixedPrecision OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig
    ShardingStrategy StateDictConfig StateDictSettings StateDictType
"""
DEFINED_IN: dict[str, dict[str, str]] = {
    "torchlike": {name: module for module, names in _BY_MODULE.items() for name in names.split()},
    "torchlike.autograd": dict.fromkeys(
        ("is_multithreading_enabled", "set_multithreading_enabled"), "autograd.grad_mode"
    ),
    # Modules are in a layer above distributed.
    "torchlike.distributed.fsdp": dict.fromkeys(_FULLY_SHARDED.split(), "nn.parallel.fully_sharded"),
    "torchlike.nn": dict.fromkeys(("intrinsic", "qat", "quantized"), "ao._older_names"),
    "torchlike.nn.functional": dict.fromkeys(
        ("handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"),
        "overrides",
    ),
}

# Modules beside which a name is looked for in another one, whose ``is_known`` says whether it has the name. ``torch.ops`` is PyTorch's
# table of operators, and torchlike's folder of that name declares operators: programs may mean either.
ANSWERED_BY = {"torchlike.ops": "_torch_ops"}


def when_loaded(call: Callable[[str, str, object], object]) -> None:
    """From now on ``call(module, name, value)`` when a module gets a name of ``DEFINED_IN``, which happens when it is first asked for."""
    _Under.loaded = call


def explain_missing(package: str) -> None:
    """Gives a module, and the public modules in it, ``missing`` as what happens when a name is not there.

    Done from outside, so that no file needs lines for it, and a type checker still knows which names there are.
    """
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(f"{package}.") and not any(part.startswith("_") for part in name.split(".")):
            explain_missing_in(name, module)


def explain_missing_in(name: str, module: ModuleType) -> None:
    """The same for one module. What its own ``__getattr__`` finds comes first."""
    own = vars(module).get("__getattr__")
    if not hasattr(own, "explains"):  # else it is the one that was made here before
        vars(module)["__getattr__"] = _raiser(name, own)


def _raiser(module: str, own: Callable[[str], object] | None) -> Callable[[str], object]:
    later, defined_in = LATER.get(module, ()), DEFINED_IN.get(module, {})

    def __getattr__(name: str) -> Any:
        if own is not None:
            with suppress(AttributeError):
                return own(name)
        if name in defined_in:
            source = import_module(f"torchlike.{defined_in[name]}")
            if name in vars(source):  # else it warns, each time
                setattr(sys.modules[module], name, vars(source)[name])
                if _Under.loaded is not None:
                    _Under.loaded(module, name, vars(source)[name])
            return getattr(source, name)
        if module in ANSWERED_BY and (other := import_module(f"torchlike.{ANSWERED_BY[module]}")).is_known(name):
            return getattr(other, name)
        if name in later:
            submodule = import_module(f"{module}.{name}")
            explain_missing(f"{module}.{name}")
            return submodule
        if _Under.alias is not None and not module.startswith("torchlike.vision"):
            return _Under.alias(module.replace("torchlike", "torch", 1), name)
        raise missing(module, name)

    __getattr__.explains = True  # pyright: ignore[reportFunctionMemberAccess]
    return __getattr__


def missing(module: str, name: str) -> AttributeError:
    """The error for ``module.name``. Read only when a name is missing, so that nothing else waits for it."""
    if name.startswith("_"):  # programs ask for these to find out about a module, and expect no explanation
        return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}{_explanation(module, name)}", name=name)


@cache
def _explanation(module: str, name: str) -> str:
    from difflib import get_close_matches

    if hasattr(sys.modules[module], "__path__") and find_spec(f"{module}.{name}") is not None:
        return f". It is a module of its own: import {module}.{name}"
    names = pytorch_names()
    words = ""
    if name in names.get(module.replace("torchlike", "torch", 1), ()):
        words = f": PyTorch {names['version']} has it, torchlike does not support it yet"
    near = get_close_matches(
        name, (candidate for candidate in vars(sys.modules[module]) if not candidate.startswith("_"))
    )
    return f"{words}. Near it are: {', '.join(near)}" if near else words
