"""torch.cuda without a GPU: queries are answered, and functions that need a GPU raise an error that says that there is none."""

import pytest

import torchlike as torch

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
ABSENT = "No CUDA GPUs are available"


def test_questions_are_answered():
    assert torch.cuda.device_count() == 0 and not torch.cuda.is_initialized() and not torch.cuda.is_bf16_supported()
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == torch.cuda.memory_reserved() == 0
    assert torch.cuda.memory_stats() == {} and torch.cuda.get_arch_list() == [] and torch.cuda.get_rng_state_all() == []
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.stream(None), torch.cuda.device_of(torch.ones(1)):
        pass


@pytest.mark.parametrize(
    "ask",
    [
        torch.cuda.current_device, torch.cuda.synchronize, torch.cuda.get_device_name, torch.cuda.get_device_capability,
        torch.cuda.get_device_properties, torch.cuda.current_stream, torch.cuda.Stream, torch.cuda.Event, torch.cuda.mem_get_info,
        torch.cuda.init, torch.cuda.get_rng_state, torch.cuda.memory_summary, torch.cuda.initial_seed,
    ],
)  # fmt: skip
def test_what_needs_a_gpu_says_so(ask):
    with pytest.raises(RuntimeError, match=ABSENT):
        ask()


def test_the_cpus_stream_of_random_numbers_is_left_alone():
    torch.manual_seed(1)
    wanted = torch.rand(2).tolist()
    torch.manual_seed(1)
    torch.cuda.manual_seed(2)
    torch.cuda.manual_seed_all(3)
    assert torch.rand(2).tolist() == wanted


def test_mixed_precision_of_old():
    with pytest.warns(FutureWarning, match=r"Please use `torch.amp.autocast\('cuda', args...\)`"):
        torch.cuda.amp.autocast(enabled=False)
    with pytest.warns(FutureWarning, match=r"Please use `torch.amp.GradScaler\('cuda', args...\)`"):
        assert not torch.cuda.amp.GradScaler(enabled=False).is_enabled()
    assert torch.cuda.amp.custom_fwd(lambda ctx, x: x)(torch.autograd.function.FunctionCtx(), 3) == 3


def test_the_classes_of_old_know_their_device():
    assert repr(torch.cuda.LongTensor) == "<class 'torch.cuda.LongTensor'>"
    assert torch.cuda.LongTensor.dtype is torch.int64
    x = torch.ones(2)
    assert isinstance(x, torch.FloatTensor) and not isinstance(x, torch.cuda.FloatTensor)
    with pytest.raises(
        TypeError, match="type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."
    ):
        torch.cuda.FloatTensor(2)
    with pytest.raises(RuntimeError, match="cuda"):
        x.type(torch.cuda.FloatTensor)
