"""Functions of ``torch`` that few programs use, compared with PyTorch's results and messages."""

import importlib
import subprocess
import sys
import warnings
from typing import Any

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome


@pytest.mark.parametrize("line", every_line("namespace"))
def test_a_line_gives_what_pytorch_gives(line, golden):
    told = outcome(torch, line)
    assert told == adopt_near(golden("lines")["namespace"][line], told)


@pytest.mark.recorded
def test_rare_names_are_imported_when_they_are_used():
    code = (
        "import sys, torchlike\n"
        "before = 'torchlike._VF' in sys.modules, 'torchlike.storage' in sys.modules\n"
        "torchlike.kl_div, torchlike.FloatStorage\n"
        "print(before, 'kl_div' in vars(torchlike), torchlike._VF.kl_div is torchlike.kl_div)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["(False,", "False)", "True", "True"]


def test_switches_of_autocast():
    x = torch.eye(2)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is torch.bfloat16 and torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        with torch.autocast("cpu"):
            assert (x @ x).dtype is torch.float16
            torch.set_autocast_dtype("cpu", torch.bfloat16)
            assert (x @ x).dtype is torch.bfloat16
        assert torch.get_autocast_dtype("cpu") is torch.float16
    finally:
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(False)
    assert not torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(True)
    torch.clear_autocast_cache()


def test_switches_of_anomalies_and_warnings():
    torch.set_anomaly_enabled(True, False)
    assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    assert not torch.is_warn_always_enabled()
    assert torch.set_flush_denormal(True) is False


@pytest.mark.parametrize("name", ["symeig", "eig", "lstsq", "matrix_rank", "solve"])
def test_what_pytorch_removed_says_so(name):
    with pytest.raises(RuntimeError, match="^This function was deprecated since version 1.9 and is now removed"):
        getattr(torch, name)(torch.eye(2), torch.eye(2))


def test_flags_of_old_warn():
    with pytest.warns(UserWarning, match=r"'has_mps' is deprecated, please use 'torch.backends.mps.is_built\(\)'"):
        assert getattr(torch, "has_mps") is False  # noqa: B009


@pytest.mark.parametrize("kind", [torch.SymInt, torch.SymFloat, torch.SymBool])
def test_no_number_is_symbolic(kind):
    assert not isinstance(torch.ones(2).shape[0], kind)
    with pytest.raises(NotImplementedError, match="symbolic sizes"):
        kind(1)


def test_operators_by_namespace_without_the_alias():
    operators: Any = torch.ops
    assert operators.aten.add(torch.ones(1), 1).tolist() == [2]
    assert not hasattr(operators, "nonsense")


def test_small_modules_of_compilers():
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 0
    assert torch._dynamo.utils.same({"a": [torch.ones(2), 1.0]}, {"a": [torch.ones(2) + 1e-6, 1.0]})
    assert not torch._dynamo.utils.same([torch.ones(2)], [torch.zeros(2)])
    with torch._inductor.utils.fresh_inductor_cache():
        pass
    utils: Any = torch.utils
    assert not utils._triton.has_triton()
    assert torch._C._profiler._ExperimentalConfig(verbose=True).verbose


def test_choices_of_the_future():
    from torchlike import __future__ as future

    future.set_swap_module_params_on_conversion(True)
    assert future.get_swap_module_params_on_conversion()
    future.set_swap_module_params_on_conversion(False)
    with pytest.raises(NotImplementedError, match="parameters stay the same objects"):
        future.set_overwrite_module_params_on_conversion(True)


def test_each_rare_name_is_in_the_module_that_is_named_for_it():
    from torchlike._missing import DEFINED_IN

    for namespace, names in DEFINED_IN.items():
        module = importlib.import_module(namespace)
        with warnings.catch_warnings(action="ignore"):
            assert [name for name in names if not hasattr(module, name)] == []
    files = ("_VF", "_linalg_utils", "_higher_order_ops", "_namespace._introspection", "_namespace._symbolic")
    written = {name for file in files for name in importlib.import_module(f"torchlike.{file}").__all__}
    assert written <= DEFINED_IN["torchlike"].keys()


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("module", "name"), [("optim.adamw", "AdamW"), ("optim.adam", "Adam"), ("autograd.anomaly_mode", "detect_anomaly")]
)
def test_files_have_pytorchs_names(module, name):
    space: Any = torch.optim if module.startswith("optim") else torch.autograd
    assert getattr(importlib.import_module(f"torchlike.{module}"), name) is getattr(space, name)


def test_the_precision_of_gpus_has_pytorchs_names():
    cudnn: Any = torch.backends.cudnn
    products = torch.backends.cuda.matmul
    assert (cudnn.allow_tf32, cudnn.conv.fp32_precision, products.allow_tf32) == (True, "tf32", False)
    with cudnn.flags(allow_tf32=False):
        assert (cudnn.allow_tf32, cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == (False, "none", "none")
    assert cudnn.allow_tf32
    cudnn.conv.fp32_precision = "ieee"
    try:
        with pytest.raises(RuntimeError, match="allow_tf32"):
            cudnn.allow_tf32  # one of the two kinds may round, and the other not
    finally:
        cudnn.allow_tf32 = True
    with pytest.raises(RuntimeError, match="Unknown precision: x"):
        cudnn.conv.fp32_precision = "x"
    for given, said, precision in ((True, "tf32", "high"), (False, "ieee", "highest")):
        products.allow_tf32 = given
        assert (products.fp32_precision, torch.get_float32_matmul_precision()) == (said, precision)


def test_the_switches_of_mkldnn_are_stored():
    mkldnn = torch.backends.mkldnn
    assert mkldnn.set_flags() == (True, False, None, "none")
    with mkldnn.flags(enabled=False):
        assert (mkldnn.enabled, mkldnn.allow_tf32) == (False, True)
    assert (mkldnn.enabled, mkldnn.deterministic, mkldnn.allow_tf32) == (True, False, None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.meshgrid(torch.ones(2), torch.ones(3)),
        lambda: torch.ones(2).storage(),
        lambda: torch.frombuffer(b"1234", dtype=torch.float32),
    ],
    ids=["meshgrid", "storage", "frombuffer"],
)
def test_warnings_that_come_once_come_always_if_a_program_says_so(call):
    counts = []
    for always in (True, True, False):
        torch.set_warn_always(always)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call()
        finally:
            torch.set_warn_always(False)
        counts.append(len(caught))
        assert all(warning.filename == __file__ for warning in caught)
    assert counts == [1, 1, 0]
