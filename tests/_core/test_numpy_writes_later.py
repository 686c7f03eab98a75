"""A result is computed from the memory as it was at the call: later writes through NumPy do not change it, as in PyTorch."""

import copy
import io
import pickle

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.nn import functional as F
from torchlike.utils.checkpoint import checkpoint
from torchlike.utils.data import DataLoader, TensorDataset


def numbers():
    return np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)


def given(take):
    def share():
        array = numbers()
        return array, take(array)

    return share


def of_a_tensor():
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    return x.numpy(), x


def of_a_pending_tensor():
    x = torch.arange(0.0, 6.0).reshape(2, 3) + 1
    return x.numpy(), x


def within_a_buffer():
    buffer = bytearray(numbers().tobytes())
    return np.frombuffer(buffer, np.float32).reshape(2, 3), torch.frombuffer(buffer, dtype=torch.float32).reshape(2, 3)


def part_of_an_array():
    whole = np.zeros((2, 7), np.float32)
    array = whole[:, 1:7:2]
    array[...] = numbers()
    return array, torch.from_numpy(whole)[:, 1:7:2]


def turned():
    array = np.asfortranarray(numbers())
    return array, torch.from_numpy(array)


def set_as_data(array):
    x = torch.zeros(2, 3)
    x.data = torch.from_numpy(array)
    return x


SHARED = {
    "from_numpy": given(torch.from_numpy),
    "as_tensor": given(torch.as_tensor),
    "from_dlpack": given(torch.from_dlpack),
    "detached": given(lambda array: torch.from_numpy(array).detach()),
    "parameter": given(lambda array: nn.Parameter(torch.from_numpy(array))),
    "data": given(set_as_data),
    "set_": given(lambda array: torch.zeros(0).set_(torch.from_numpy(array))),
    "numpy()": of_a_tensor,
    "numpy() of what is pending": of_a_pending_tensor,
    "frombuffer": within_a_buffer,
    "part": part_of_an_array,
    "turned": turned,
    "copied": given(torch.tensor),
}


def written(x, write):
    y = torch.zeros(2, 3)
    write(y, x)
    return y


def stored(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def loaded(x):
    layer = nn.Linear(3, 2, bias=False)
    layer.load_state_dict({"weight": x})
    return layer.weight


READS = {
    "sum with a number": lambda x: x + 1,
    "activation": F.relu,
    "several": lambda x: (x * 2).sum(0) + x.max(),
    "product": lambda x: x @ x.t(),
    "clone": lambda x: x.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "save": stored,
    "load_state_dict": loaded,
    "copy_": lambda x: written(x, lambda y, x: y.copy_(x)),
    "setitem": lambda x: written(x, lambda y, x: y.__setitem__(0, x[1])),
    "index_put": lambda x: written(x, lambda y, x: y.__setitem__(torch.tensor([0]), x[:1])),
    "add_": lambda x: written(x, lambda y, x: y.add_(x)),
    "out": lambda x: written(x, lambda y, x: torch.add(x, 1, out=y)),
    "fill_ with an element": lambda x: written(x, lambda y, x: y.fill_(x[0, 1])),
    "indices": lambda x: x[torch.tensor([1, 0])],
    "mask": lambda x: x[x > 2],
    "dtypes": lambda x: (x.double(), x.half(), x.int(), x > 3),
    "copied by to": lambda x: x.to(torch.float32, copy=True),
    "joined": lambda x: (torch.cat([x, x]), torch.stack([x, x])),
    "where": lambda x: torch.where(x > 3, x, -x),
    "views": lambda x: (x.flatten() * 2, x[0] + 1, x.t() + 0, x[1].expand(2, 3) * 1, x.narrow(1, 0, 2) + 1),
    "parts": lambda x: [part + 1 for part in (*x, *x.split(1), *x.unbind(1))],
    "bits": lambda x: x.contiguous().view(torch.int32) + 0,
    "sizes that depend on values": lambda x: (x.unique(), (x > 3).nonzero()),
    "sorted": lambda x: (*x.sort(descending=True), *x.max(1), x.std()),
    "softmax and einsum": lambda x: (F.softmax(x, 1), torch.einsum("ij,kj->ik", x, x)),
    "module": lambda x: nn.Sequential(nn.Flatten(), nn.ReLU())(x),
    "batches": lambda x: [torch.cat(batch) for batch in DataLoader(TensorDataset(x, x + 1), batch_size=1)],
    "batches of threads": lambda x: [part for part, in DataLoader(TensorDataset(x), batch_size=2, num_workers=2)],
    "collated rows": lambda x: list(DataLoader([row.detach().numpy() for row in x], batch_size=2)),
    "foreach": lambda x: torch._foreach_add([x], 1),
    "vmap and grad": lambda x: (torch.func.vmap(lambda t: t * 2)(x), torch.func.grad(lambda t: (t * t).sum())(x)),
    "Python numbers": lambda x: torch.tensor([x[0, 0].item(), float(x[1, 1]), *x.tolist()[0]]),
    "new_tensor": lambda x: x.new_tensor(x.tolist()),
}  # fmt: skip


def flat(results):
    return [results] if isinstance(results, torch.Tensor) else [t for each in results for t in flat(each)]


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_results_hold_the_memory_of_the_time_of_the_call(read, share):
    expected = [t.tolist() for t in flat(read(torch.tensor(numbers())))]
    array, x = share()
    for _ in range(2):  # recorded first, and known afterwards
        results = flat(read(x.detach()))
        array[...] = 70.0
        assert [t.tolist() for t in results] == expected
        array[...] = numbers()


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_a_pending_loop_sees_each_value_that_was_in_the_memory(share):
    array, x = share()
    total, seen = torch.zeros(()), []
    for number in range(5):
        array[...] = number
        total = total + x.detach().sum()
        seen.append(x.detach() * 2)
    kept = share is SHARED["copied"]
    assert total.item() == (5 * 21.0 if kept else 6 * 10.0)
    assert [t[0, 0].item() for t in seen] == ([2.0] * 5 if kept else [0.0, 2.0, 4.0, 6.0, 8.0])


@pytest.mark.parametrize("share", [s for name, s in SHARED.items() if name != "copied"])
def test_writes_in_place_and_by_numpy_take_turns(share):
    array, x = share()
    x = x.detach()
    x.mul_(2)
    assert array.tolist() == (numbers() * 2).tolist()
    array[0] = 5.0
    first = x[0]
    first.add_(1)
    array[0, 1] = 1.0
    x.mul_(3)
    assert x.tolist() == array.tolist() == [[18.0, 3.0, 18.0], [24.0, 30.0, 36.0]]
    assert first.tolist() == [18.0, 3.0, 18.0]


def test_arrays_of_indices_and_masks_are_read_at_the_call():
    x, indices, mask = torch.tensor(numbers()), np.array([1, 0]), np.array([True, False])
    of_array, of_tensor = x[indices], x[torch.from_numpy(indices)]
    found, masked = F.embedding(torch.from_numpy(indices), x), x[mask]
    indices[:], mask[:] = 0, True
    assert of_array.tolist() == of_tensor.tolist() == found.tolist() == numbers()[[1, 0]].tolist()
    assert masked.tolist() == numbers()[:1].tolist()
    assert x[indices].tolist() == numbers()[[0, 0]].tolist()


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_steps_and_numpy_take_turns_at_a_parameter(optimizer):
    w = nn.Parameter(torch.full((2,), 0.5))
    array, steps = w.detach().numpy(), optimizer([w], lr=0.1)
    (w * w).sum().backward()
    steps.step()
    assert array.tolist() == w.tolist()
    assert np.allclose(array, 0.4)
    array[...] = 7.0
    steps.zero_grad()
    (w * w).sum().backward()
    assert w.grad.tolist() == [14.0, 14.0]
    steps.step()
    assert array.tolist() == w.tolist()
    assert (array < 7.0).all()


def test_the_backward_pass_is_that_of_the_forward_pass():
    """PyTorch silently uses the memory's later elements: see ``docs/migration.md``."""
    array, w = numbers(), torch.ones(2, 3, requires_grad=True)
    value = (w * torch.from_numpy(array)).sum()
    array[...] = 70.0
    value.backward()
    assert (value.item(), w.grad.tolist()) == (21.0, numbers().tolist())
    weight = nn.Parameter(torch.ones(2))
    value = (weight * weight.exp()).sum()
    expected = (weight.detach().exp() * 2).tolist()
    weight.detach().numpy()[...] = 70.0
    value.backward()
    assert np.allclose(weight.grad.tolist(), expected)


def test_a_checkpoint_runs_anew_on_what_is_in_the_memory():
    array, w = numbers(), torch.ones(2, 3, requires_grad=True)
    x = torch.from_numpy(array)
    value = checkpoint(lambda w: (w * x).sum(), w, use_reentrant=False)
    array[...] = 70.0
    value.backward()
    assert (value.item(), w.grad.tolist()) == (21.0, [[70.0] * 3] * 2)
