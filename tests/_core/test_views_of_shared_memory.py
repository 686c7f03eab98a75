"""Views of memory shared with NumPy whose elements differ from those in memory: conjugates, parts, other dtypes."""

import io
from typing import Any

import numpy as np
import pytest

import torchlike as torch

ELEMENTS = [[1 + 2j, 3 - 4j], [5 + 6j, -7 + 8j]]


def own():
    return torch.tensor(ELEMENTS)


def shared():
    return torch.from_numpy(np.array(ELEMENTS, np.complex64))


def within():
    whole = np.zeros((3, 4), np.complex64)
    whole[1:, 1::2] = np.array(ELEMENTS).T
    return torch.from_numpy(whole)[1:, 1::2].T


def seen_by_numpy():
    x: Any = own()
    x.array = x.numpy()  # kept alive
    return x


def saved_and_loaded(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def loaded(x):
    return next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=2)))[0]


READS = {
    "conj": lambda x: x.conj(),
    "mH": lambda x: x.mH,
    "adjoint": lambda x: x.adjoint(),
    "H": lambda x: x.H,
    "imag of conj": lambda x: x.conj().imag,
    "real of conj": lambda x: x.conj().real,
    "added": lambda x: x.conj() + 1,
    "vdot": lambda x: torch.vdot(x[0], x[1]),
    "vdot of a conjugate": lambda x: torch.vdot(x.conj()[0], x[1]),
    "clone": lambda x: x.conj().clone(),
    "copied": lambda x: torch.zeros(2, 2, dtype=x.dtype).copy_(x.conj()),
    "row of conj": lambda x: x.conj()[0],
    "conj of row": lambda x: x[0].conj(),
    "transposed": lambda x: x.conj().T,
    "flat": lambda x: x.conj().reshape(4),
    "twice": lambda x: x.conj().conj(),
    "product": lambda x: x.conj() @ x,
    "resolved": lambda x: x.conj().resolve_conj(),
    "angle": lambda x: x.conj().angle(),
    "wider": lambda x: x.conj().to(torch.complex128),
    "detached": lambda x: x.conj().detach(),
    "contiguous": lambda x: x.conj().contiguous(),
    "unbound": lambda x: x.conj().unbind()[1],
    "split": lambda x: x.conj().split(1)[1],
    "expanded": lambda x: x.conj().expand(2, 2, 2),
    "unfolded": lambda x: x.conj().unfold(0, 1, 1),
    "diagonal": lambda x: x.conj().diagonal(),
    "selected": lambda x: x.conj().index_select(0, torch.tensor([1])),
    "masked": lambda x: x.conj()[x.real > 2],
    "item": lambda x: torch.tensor(x.conj()[0, 1].item()),
    "stacked": lambda x: torch.stack([x.conj(), x]),
    "set": lambda x: torch.empty(0, dtype=x.dtype).set_(x.conj()).sum(),
    "of data": lambda x: x.conj().data,
    "saved": lambda x: saved_and_loaded(x.conj()),
    "data set": lambda x: torch.utils.data.TensorDataset(x.conj())[0][0],
    "batch": lambda x: loaded(x.conj()),
    "batch of parts": lambda x: loaded(x.imag),
    "deepcopy": lambda x: x.conj().__deepcopy__({}),
    "parts": torch.view_as_real,
    "part": lambda x: torch.view_as_real(x)[..., 1],
    "parts put together": lambda x: torch.view_as_complex(torch.view_as_real(x)).conj(),
    "imag": lambda x: x.imag,
    "imag of transposed": lambda x: x.T.imag.T,
    "imag of a conjugate": lambda x: x.conj().imag,
    "bits": lambda x: x.resolve_conj().contiguous().view(torch.int32),
    "there and back": lambda x: torch.view_as_real(x).view(torch.int32).view(torch.float32),
}
WRITES = {
    "mul_": lambda x: x.conj().mul_(2),
    "item": lambda x: x.conj().__setitem__(0, 5j),
    "imag": lambda x: x.imag.mul_(2),
    "imag of a conjugate": lambda x: x.conj().imag.add_(2),
    "real of a conjugate": lambda x: x.mH.real.add_(2),
    "row": lambda x: x.conj()[0].fill_(1j),
    "mH": lambda x: x.mH.mul_(1j),
    "parts": lambda x: torch.view_as_real(x).neg_(),
    "bits": lambda x: torch.view_as_real(x).view(torch.int32).zero_(),
    "copy": lambda x: x.conj().copy_(torch.arange(4).reshape(2, 2) * 1j),
}


@pytest.mark.parametrize("make", [shared, within, seen_by_numpy])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_read_as_from_memory_of_its_own(read, make):
    found, expected = read(make()), read(own())
    assert found.dtype is expected.dtype
    assert (found + 0).tolist() == (expected + 0).tolist()  # what operations read
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("make", [shared, within, seen_by_numpy])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_written_as_to_memory_of_its_own(write, make):
    found, expected = make(), own()
    write(found), write(expected)
    assert found.tolist() == found.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize(
    "view", [lambda x: x.conj(), lambda x: x.imag, lambda x: x.conj().imag, lambda x: x.mH, torch.view_as_real]
)
def test_writes_are_seen_by_views_made_before(view):
    array = np.array(ELEMENTS, np.complex64)
    x = torch.from_numpy(array)
    seen = view(x)
    assert seen.tolist() == view(own()).tolist()
    array[0, 1] = 9 + 9j
    x.add_(1j)
    assert seen.tolist() == (seen + 0).tolist() == view(torch.tensor(array)).tolist()


def test_what_numpy_wrote_last_is_seen_by_data_sets():
    x = torch.zeros(2)
    x.numpy()[0] = 1
    assert torch.utils.data.TensorDataset(x)[0][0].item() == 1


def test_a_conjugate_is_not_seen_as_another_dtype_or_handed_out():
    said = "^torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.$"
    with pytest.raises(RuntimeError, match=said):
        own().conj().view(torch.float32)
    for export in (np.from_dlpack, torch.from_dlpack):
        with pytest.raises(BufferError, match="^Can't export tensors with the conjugate bit set$"):
            export(own().conj())
    with pytest.raises(BufferError, match="^Can't export tensors that require gradient, use tensor.detach"):
        torch.from_dlpack(own().requires_grad_())


def test_as_strided_of_a_conjugate_and_of_parts():
    x = own()
    assert x.conj().as_strided((2,), (1,), 1).tolist() == [3 + 4j, 5 - 6j]
    assert x.imag.as_strided((2,), (1,), 2).tolist() == [3, -4]
    assert x.conj().as_strided((2,), (2,), 0).fill_(1 + 1j).tolist() == [1 + 1j] * 2
    assert x.tolist() == [[1 - 1j, 3 - 4j], [1 - 1j, -7 + 8j]]
    assert torch.arange(4.0).view(torch.uint8).as_strided((2,), (2,), 6).tolist() == [128, 0]
    assert torch.empty(0, dtype=x.dtype).set_(x.conj()).is_conj() is False


@pytest.mark.parametrize("place", [slice(1, 6), slice(1, 11, 2)])
@pytest.mark.parametrize("normalise", [torch.nn.functional.batch_norm, torch.nn.functional.instance_norm])
def test_running_statistics_may_be_a_part_of_a_larger_memory(place, normalise):
    x = torch.arange(30.0).view(2, 5, 3)
    means, variances = np.zeros(13, np.float32), torch.ones(13)
    own = torch.zeros(5), torch.ones(5)
    for statistics in (own, (torch.from_numpy(means)[place], variances[place])):
        normalise(x, *statistics, None, None, True)
    expected = np.zeros(13, np.float32)
    expected[place] = own[0].numpy()
    assert means.tolist() == expected.tolist()
    assert variances[place].tolist() == own[1].tolist()
    assert variances.shape == (13,) and variances[0].item() == variances[12].item() == 1
