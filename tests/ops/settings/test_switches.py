"""Global settings, storages, and queries about the environment answer as in PyTorch."""

import pytest

import torchlike as torch


def test_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.get_num_threads() == 3
        with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
            torch.set_num_threads(0)
        with pytest.raises(RuntimeError, match="set_num_threads expects an int, but got str"):
            torch.set_num_threads("3")  # pyright: ignore[reportArgumentType]
    finally:
        torch.set_num_threads(before)
    assert torch.get_num_interop_threads() > 0


def test_deterministic_algorithms():
    try:
        torch.use_deterministic_algorithms(True)
        assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 2
        torch.set_deterministic_debug_mode("warn")
        assert torch.is_deterministic_algorithms_warn_only_enabled() and torch.get_deterministic_debug_mode() == 1
        with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected 0, 1, or 2, but got 7"):
            torch.set_deterministic_debug_mode(7)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0


def test_storages_tell_what_is_shared():
    x = torch.ones(2, 3)
    storage = x[1].untyped_storage()
    assert (storage.nbytes(), len(storage), storage.device) == (24, 24, torch.device("cpu"))
    assert storage == x.untyped_storage() and storage != x.clone().untyped_storage() and torch.is_storage(storage)
    assert x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
    assert repr(storage).endswith(" 128\n 63\n[torch.storage.UntypedStorage(device=cpu) of size 24]")
    assert len(torch.UntypedStorage(3)) == 3


def test_what_programs_ask_of_compilers_and_of_autocast():
    assert not torch.compiler.is_compiling() and torch.compiler.disable(abs) is abs
    assert torch.compiler.disable(reason="none")(abs) is abs
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
    assert torch.get_autocast_dtype("cuda") is torch.float16
    with pytest.warns(DeprecationWarning, match=r"use torch.is_autocast_enabled\('cpu'\)"):
        assert not torch.is_autocast_cpu_enabled()


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


def test_new_memory_is_filled_where_algorithms_are_deterministic(deterministic):
    x = torch.ones(2)
    for made in (
        torch.empty(3),
        torch.empty_like(x),
        x.new_empty(2),
        torch.empty_strided((2, 2), (1, 2)),
        torch.empty((2,), dtype=torch.complex64),
    ):
        assert made.isnan().all() and made._version == 0
    assert torch.empty(2, dtype=torch.int8).tolist() == [127, 127] and torch.empty(1, dtype=torch.bool).tolist() == [
        True
    ]
    grown = torch.ones(2).resize_(4)
    assert grown[:2].tolist() == [1, 1] and grown[2:].isnan().all()
    torch.utils.deterministic.fill_uninitialized_memory = False
    assert torch.empty(3).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="expected mode to be bool"):
        torch.utils.deterministic.fill_uninitialized_memory = 1


def test_operations_that_pytorch_calls_nondeterministic_say_so(deterministic):
    x, at = torch.ones(3), torch.tensor([0])
    unpool = torch.nn.functional.max_unpool1d
    calls = {
        "put_": lambda: x.put_(at, torch.ones(1)),
        "max_unpooling2d_forward_out": lambda: unpool(torch.ones(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.long), 3),
    }
    for name, call in calls.items():
        with pytest.raises(RuntimeError, match=f"{name} does not have a deterministic implementation, but you set"):
            call()
    x.put_(at, torch.ones(1), accumulate=True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    for name, call in calls.items():
        with pytest.warns(UserWarning, match=f"{name} does not have a deterministic implementation, but you set"):
            call()
