"""Memory shared with NumPy, in both directions, through views and in-place operations, for as long as both sides live."""

import gc

import numpy as np
import pytest

import torchlike as torch

# ---- NumPy arrays over a tensor's memory


def test_each_side_sees_what_the_other_writes():
    t = torch.zeros(3)
    n = t.numpy()
    n[0] = 1
    assert t.tolist() == [1.0, 0.0, 0.0]
    t[1] = 2
    assert n.tolist() == [1.0, 2.0, 0.0]
    t.add_(1)
    n *= 10
    t.mul_(2)
    assert n.tolist() == t.tolist() == [40.0, 60.0, 20.0]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("t.fill_(7)", [[7, 7], [7, 7]]),
        ("t.zero_()", [[0, 0], [0, 0]]),
        ("t[0] = 9", [[9, 9], [3, 4]]),
        ("t[:, 1] += 5", [[1, 7], [3, 9]]),
        ("t.T[0, 1] = 8", [[1, 2], [8, 4]]),
        ("t[t > 2] = 0", [[1, 2], [0, 0]]),
        ("t[torch.tensor([1])] = 6", [[1, 2], [6, 6]]),
        ("t.view(-1)[::2] *= -1", [[-1, 2], [-3, 4]]),
        ("t.copy_(torch.eye(2))", [[1, 0], [0, 1]]),
        ("torch.add(t, 1, out=t)", [[2, 3], [4, 5]]),
        ("t.detach().sub_(1)", [[0, 1], [2, 3]]),
        ("t.data.sub_(1)", [[0, 1], [2, 3]]),
    ],
)
def test_every_way_to_write_is_seen(write, expected):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    n = t.numpy()
    exec(write, {"torch": torch, "t": t})
    assert n.tolist() == expected
    n[0, 0] = 50  # and sharing goes on
    assert t[0, 0].item() == 50


def test_numpys_writes_reach_views_and_later_operations():
    t = torch.arange(6.0).reshape(2, 3)
    row, column, n = t[1], t[:, 2], t.numpy()
    twice = t * 2
    n[1, 2] = 100
    assert (row.tolist(), column.tolist()) == ([3.0, 4.0, 100.0], [2.0, 100.0])
    assert (t * 2)[1, 2].item() == 200
    assert twice[1, 2].item() == 10  # computed before the write
    n[1] = 0
    assert row.sum().item() == 0


def test_numpy_of_a_view_is_a_view():
    t = torch.zeros(4, 4)
    block = t[1:3, ::2].numpy()
    assert (block.shape, block.strides) == ((2, 2), (16, 8))
    block[:] = [[1, 2], [3, 4]]
    assert t.tolist() == [[0, 0, 0, 0], [1, 0, 2, 0], [3, 0, 4, 0], [0, 0, 0, 0]]
    transposed = t.T.numpy()
    assert (transposed.strides, transposed[0, 1]) == ((4, 16), 1)
    whole = t.numpy()
    transposed[3, 3] = 9
    assert (whole[3, 3], t[3, 3].item()) == (9, 9)


def test_two_arrays_of_one_tensor_share_too():
    t = torch.zeros(2)
    a, b = t.numpy(), t.numpy()
    a[0] = 1
    assert b.tolist() == [1, 0]
    assert np.shares_memory(a, b)


def test_a_view_of_the_array_keeps_the_sharing_alive():
    t = torch.zeros(4)
    part = t.numpy()[1:3]  # the array itself has been freed
    gc.collect()
    part[:] = 5
    assert t.tolist() == [0, 5, 5, 0]


def test_the_array_outlives_the_tensor():
    n = torch.tensor([1.0, 2.0]).numpy()
    gc.collect()
    n += 1
    assert n.tolist() == [2, 3]


def test_sharing_ends_with_the_array():
    t = torch.tensor([1.0, 2.0])
    n = t.numpy()
    n[0] = 5
    del n
    gc.collect()
    assert t.tolist() == [5, 2]
    t += 1
    again = t.numpy()
    again[1] = 0
    assert t.tolist() == [6, 0]


VIEWS = {
    "behind the last row": lambda x: x[3:],
    "behind the last column": lambda x: x[:, 4:],
    "beyond the memory": lambda x: x.as_strided((0,), (1,), 14),
    "transposed": lambda x: x.t(),
    "repeated": lambda x: x.expand(2, 3, 4),
    "every second": lambda x: x[::2, 1::2],
    "a diagonal": lambda x: x.diagonal(),
    "one number": lambda x: x[2, 3],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_numpy_has_the_shape_the_elements_and_the_steps_of_a_view(view):
    shown = view(torch.arange(12.0).view(3, 4))
    array = shown.numpy()
    assert (array.shape, array.tolist()) == (tuple(shown.shape), shown.tolist())
    assert array.strides == tuple(4 * step for step in shown.stride())
    assert array.flags.writeable and not array.flags.owndata


def test_detached_numpy_shares():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    n = w.detach().numpy()
    n[0] = 10
    assert w.tolist() == [10, 2]
    (w * w).sum().backward()
    assert w.grad.tolist() == [20, 4]
    with torch.no_grad():
        w -= 1
    assert n.tolist() == [9, 1]


def test_numpys_writes_do_not_count_as_versions():
    t = torch.zeros(2)
    t.numpy()[0] = 1
    assert t._version == 0
    t.add_(1)
    assert t._version == 1


def test_a_gradients_array():
    w = torch.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    n = w.grad.numpy()
    (w * 3).sum().backward()
    assert n.tolist() == [6, 6]
    n[:] = 0
    assert w.grad.tolist() == [0, 0]


def test_zero_dim_and_empty():
    n = torch.tensor(3.0).numpy()
    assert (n.shape, n.dtype) == ((), np.float32)
    t = torch.tensor(3.0)
    t.numpy()[...] = 4
    assert t.item() == 4
    assert torch.zeros(0, 3).numpy().shape == (0, 3)


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "bool", "complex64"]
)
def test_dtypes_go_over_as_they_are(name):
    n = torch.tensor([0, 1], dtype=getattr(torch, name)).numpy()
    assert n.dtype == np.dtype(name)
    back = torch.from_numpy(n)
    assert back.dtype is getattr(torch, name)
    n[0] = 1
    assert back.tolist() == [1, 1]


def test_force_gives_an_array_of_what_requires_grad():
    w = torch.ones(2, requires_grad=True)
    assert w.numpy(force=True).tolist() == [1, 1]
    assert (w * 2).numpy(force=True).tolist() == [2, 2]
    t = torch.zeros(1)
    t.numpy(force=True)[0] = 3
    assert t.item() == 3


def test_bfloat16_has_no_numpy():
    with pytest.raises(TypeError, match="^Got unsupported ScalarType BFloat16$"):
        torch.ones(1, dtype=torch.bfloat16).numpy()


# ---- tensors over NumPy's memory


def test_from_numpy_shares_both_ways():
    n = np.zeros((2, 2))
    t = torch.from_numpy(n)
    n[0, 0] = 1
    assert t.tolist() == [[1, 0], [0, 0]]
    t[1] += 5
    assert n.tolist() == [[1, 0], [5, 5]]
    row = t[0]
    n += 1
    assert row.tolist() == [2, 1]
    row.zero_()
    assert n.tolist() == [[0, 0], [6, 6]]
    np.add(n, 1, out=n)
    assert t.sum().item() == 16


def test_from_numpy_of_a_view():
    n = np.arange(12.0).reshape(3, 4)
    t = torch.from_numpy(n[1:, ::2])
    assert (t.tolist(), t.stride()) == ([[4, 6], [8, 10]], (4, 2))
    t.zero_()
    assert n.tolist() == [[0, 1, 2, 3], [0, 5, 0, 7], [0, 9, 0, 11]]
    n[2, 2] = -1
    assert t.tolist() == [[0, 0], [0, -1]]
    assert torch.from_numpy(n.T).stride() == (1, 4)


def test_numpy_of_from_numpy_is_the_same_memory():
    n = np.zeros(3)
    assert np.shares_memory(torch.from_numpy(n).numpy(), n)


def test_from_numpy_sees_writes_between_operations():
    n = np.ones(3, np.float32)
    t = torch.from_numpy(n)
    first = t * 2
    n[:] = 5
    second = t * 2
    n[:] = 7
    assert (first.tolist(), second.tolist(), t.tolist()) == ([2] * 3, [10] * 3, [7] * 3)


def test_from_numpy_keeps_the_array_alive():
    t = torch.from_numpy(np.arange(3))
    gc.collect()
    t += 1
    assert t.tolist() == [1, 2, 3]


def test_as_tensor_shares_and_tensor_copies():
    n = np.zeros(2, np.float32)
    shared, copied = torch.as_tensor(n), torch.tensor(n)
    converted = torch.as_tensor(n, dtype=torch.float64)
    n[0] = 1
    assert (shared.tolist(), copied.tolist(), converted.tolist()) == ([1, 0], [0, 0], [0, 0])
    t = torch.zeros(1)
    assert torch.as_tensor(t) is t


def test_from_numpy_of_read_only_memory_warns_once(monkeypatch):
    monkeypatch.setattr("torchlike.dispatch.warned.once.given", set())
    n = np.zeros(2)
    n.flags.writeable = False
    with pytest.warns(
        UserWarning, match="^The given NumPy array is not writable, and PyTorch does not support non-writable"
    ):
        t = torch.from_numpy(n)
    assert t.tolist() == torch.from_numpy(n).tolist() == [0, 0]


# ---- NumPy's own functions called with tensors


def test_asarray_shares_and_array_copies():
    t = torch.zeros(2)
    shared, copied, converted = np.asarray(t), np.array(t), np.asarray(t, dtype=np.float64)
    t[0] = 1
    assert (shared.tolist(), copied.tolist(), converted.tolist()) == ([1, 0], [0, 0], [0, 0])
    assert converted.dtype == np.float64


def test_numpy_functions_take_tensors():
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.allclose(t, [[1, 2], [3, 4]])
    assert np.sum(np.asarray(t)) == 10
    assert np.concatenate([t, t]).shape == (4, 2)


def test_operators_between_arrays_and_tensors():
    t, n = torch.tensor([1.0, 2.0]), np.array([10.0, 20.0], np.float32)
    assert type(t + n) is torch.Tensor
    assert (t + n).tolist() == [11, 22]
    assert (t * np.float32(3)).tolist() == [3, 6]
    assert (t + np.int64(1)).dtype is torch.float32


def test_lists_of_numpy_numbers():
    assert torch.tensor([np.float32(1.5), np.float32(2)]).tolist() == [1.5, 2.0]
    assert torch.tensor(np.int32(3)).dtype is torch.int32
    assert torch.tensor([np.True_, np.False_]).dtype is torch.bool


# ---- dlpack


def test_dlpack_there_and_back():
    t = torch.arange(4.0)
    n = np.from_dlpack(t)
    assert n.tolist() == [0, 1, 2, 3]
    back = torch.from_dlpack(np.arange(3))
    assert (back.tolist(), back.dtype) == ([0, 1, 2], torch.int64)
    assert t.__dlpack_device__() == (1, 0)


def test_dlpack_shares_memory():
    t = torch.zeros(2)
    n = np.from_dlpack(t)
    t[0] = 1
    assert n.tolist() == [1, 0]
    m = np.zeros(2)
    s = torch.from_dlpack(m)
    s[1] = 2
    m[0] = 3
    assert (m.tolist(), s.tolist()) == ([3, 2], [3, 2])


def test_dlpack_of_what_requires_grad():
    with pytest.raises(BufferError, match="^Can't export tensors that require gradient, use tensor.detach"):
        torch.ones(1, requires_grad=True).__dlpack__()


def test_numpys_functions_of_tensors_return_tensors():
    x = torch.tensor([1.0, 4.0, 9.0])
    root = np.sqrt(x)
    assert isinstance(root, torch.Tensor) and root.dtype is torch.float32 and root.tolist() == [1, 2, 3]
    assert np.add(np.ones(3), x).dtype is torch.float64 and np.maximum(2, x).tolist() == [2, 4, 9]
    assert np.isnan(x).dtype is torch.uint8 and np.greater(x, 2).tolist() == [0, 1, 1]
    assert np.sqrt(torch.tensor(4.0)).shape == () and np.sqrt(torch.tensor([4])).dtype is torch.float64
    out = np.zeros(3, np.float32)
    result = np.add(x, 1, out=out)
    assert np.asarray(result).tolist() == out.tolist() == [2, 5, 10]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sqrt(x.clone().requires_grad_())
