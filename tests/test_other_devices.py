"""Devices that are not available answer with PyTorch's messages; the CPU is a device like others."""

import importlib.util

import pytest

import torchlike as torch

pytestmark = pytest.mark.recorded
NO_GPU = not torch.cuda.is_available()


def test_the_cpu_is_there():
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1 and torch.cpu.current_device() == "cpu"
    with torch.cpu.stream(torch.cpu.current_stream()):
        torch.cpu.synchronize()
    start, end = torch.cpu.Event(enable_timing=True), torch.cpu.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    with pytest.warns(FutureWarning), torch.cpu.amp.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16


@pytest.mark.parametrize("name", ["xpu", "mtia"])
def test_xpu_and_mtia_are_not_available(name):
    module = getattr(torch, name)
    assert not module.is_available() and module.device_count() == 0
    with pytest.raises((AssertionError, RuntimeError), match="XPU|MTIA"):
        module.synchronize()


@pytest.mark.skipif(torch.mps.is_available(), reason="there is one")
def test_mps_is_not_available():
    assert torch.mps.device_count() == 0
    with pytest.raises(RuntimeError, match=r"Cannot execute getCurrentAllocatedMemory\(\) without MPS backend\."):
        torch.mps.current_allocated_memory()


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU")
def test_what_needs_a_gpu_says_so():
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        torch.cuda.nvtx.range_push("a")
    for call in (
        torch.cuda.CUDAGraph,
        torch.cuda.graph_pool_handle,
        torch.cuda.profiler.start,
        torch.cuda.memory._record_memory_history,
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        torch.accelerator.set_device_index(0)


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU")
@pytest.mark.parametrize(
    "name",
    ["empty_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
     "memory_stats", "reset_peak_memory_stats"],
)  # fmt: skip
def test_the_memory_of_no_accelerator(name):
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        getattr(torch.accelerator, name)()


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU")
def test_what_is_asked_about_no_gpu():
    assert torch.cuda.memory_stats_as_nested_dict() == torch.cuda.host_memory_stats() == {} and torch.cuda.has_half
    with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py does not seem to be installed"):
        torch.cuda.utilization()
    assert torch.cuda.list_gpu_processes().startswith("pynvml module not found")
    with pytest.raises(RuntimeError):
        torch.cuda.set_sync_debug_mode("warn")


def test_switches_of_libraries_that_are_not_used():
    backends = torch.backends
    assert backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    with backends.nnpack.flags(enabled=False):
        assert not backends.nnpack.enabled
    assert backends.nnpack.enabled and not backends.xnnpack.enabled and backends.cusparselt.version() is None
    assert not (backends.kleidiai.is_available() or backends.cusparselt.is_available())
    backends.mha.set_fastpath_enabled(False)
    assert backends.mha.get_fastpath_enabled() is False
    backends.mha.set_fastpath_enabled(True)
    before = backends.cuda.preferred_linalg_library()
    assert repr(before) == "<_LinalgBackend.Default: 0>"
    with pytest.raises(RuntimeError, match="Cannot set preferred backend to MAGMA"):
        backends.cuda.preferred_linalg_library("magma")
    with pytest.raises(RuntimeError, match="Choose from: default, cusolver, magma"):
        backends.cuda.preferred_linalg_library("mkl")
    assert backends.cuda.preferred_linalg_library() is before


@pytest.mark.skipif(not NO_GPU, reason="the default is another one there")
def test_streams_and_events_of_any_device():
    stream = torch.Stream()
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert stream.query() and stream == torch.Stream(device="cpu")
    assert stream.record_event().query()
    with pytest.raises(ValueError, match="enable_timing=True"):
        torch.Event().elapsed_time(torch.Event())


def test_what_is_not_written_here_says_so():
    assert not torch.onnx.is_in_onnx_export()
    if importlib.util.find_spec("jax2onnx") is None:
        with pytest.raises(torch.onnx.OnnxExporterError, match=r"pip install 'torchlike\[onnx\]'"):
            torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1, 1))
    with pytest.raises(OSError, match="Could not load this library"):
        torch.classes.load_library("nothing.so")
    with pytest.raises(RuntimeError, match=r"Tried to instantiate class 'foo\.bar', but it does not exist"):
        _ = torch.classes.foo.bar


def test_what_libraries_take_from_c():
    assert torch._C._get_tracing_state() is None
    assert torch._C._log_api_usage_once("x") is None
    assert (
        torch._C._nn.gelu(torch.zeros(1)).item() == 0
        and torch._C._nn.linear(torch.ones(1, 2), torch.ones(1, 2)).item() == 2
    )
    with pytest.raises(AttributeError):
        torch._C._nn.no_such_function
    assert torch._C._nn._parse_to("cpu", torch.float32) == (torch.device("cpu"), torch.float32, False, None)
    assert torch._C._nn._parse_to(torch.float16, non_blocking=True) == (None, torch.float16, True, None)
