"""The meta device: tensors have shapes, dtypes and strides, and no elements or programs. The messages are those of PyTorch 2.13."""

import copy
import io
import pickle
import re

import numpy as np
import pytest

import torchlike as torch
from torchlike.nn import functional as F

pytestmark = pytest.mark.recorded

NO_DATA = re.escape("Cannot copy out of meta tensor; no data!")
NO_ITEM = re.escape("Tensor.item() cannot be called on meta tensors")
HUGE = (10**7, 10**7)


@pytest.fixture
def m():
    return torch.ones(2, 3, device="meta")


def test_a_meta_tensor_reports_its_device_and_shape(m):
    assert m.device == torch.device("meta") == torch.ones(1, device="meta:0").device
    assert m.is_meta and not m.is_cpu and not torch.ones(1).is_meta
    assert (m.stride(), m.t().stride(), m[:, 1:].storage_offset()) == ((3, 1), (1, 3), 1)
    assert (m.data_ptr(), m.untyped_storage().nbytes(), m.get_device()) == (0, 24, -1)
    assert m.type() == "torch.meta.FloatTensor"


def test_a_meta_tensor_prints_without_elements(m):
    assert repr(m) == str(m) == f"{m}" == "tensor(..., device='meta', size=(2, 3))"
    assert (
        repr(torch.ones(2, dtype=torch.int64, device="meta"))
        == "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    )
    leaf = torch.ones(2, device="meta", requires_grad=True)
    assert repr(leaf) == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert repr(leaf * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"
    parameter = torch.nn.Parameter(torch.ones((), device="meta"))
    assert repr(parameter) == "Parameter containing:\ntensor(..., device='meta', size=(), requires_grad=True)"


def test_nothing_that_takes_memory_is_made():
    x = torch.randn(HUGE, device="meta", requires_grad=True)
    y = F.dropout((x @ x).relu().tril() + torch.eye(HUGE[0], device="meta"))
    y.sum().backward()
    assert x.grad.shape == HUGE and x.grad.is_meta
    assert torch.arange(10**13, device="meta").numel() == 10**13
    before = torch.explain()
    with torch.op_by_op():
        y[:, 3:5].softmax(1).add_(1)
    assert torch.explain().compiles == before.compiles


@pytest.mark.parametrize(
    ("read", "error", "words"),
    [
        (lambda t: t.item(), RuntimeError, NO_ITEM),
        (lambda t: bool(t), RuntimeError, NO_ITEM),
        (lambda t: float(t), RuntimeError, NO_ITEM),
        (lambda t: 1 in t, RuntimeError, NO_ITEM),
        (lambda t: torch.allclose(t, t), RuntimeError, NO_ITEM),
        (lambda t: t.tolist(), NotImplementedError, NO_DATA),
        (lambda t: t.cpu(), NotImplementedError, NO_DATA),
        (lambda t: t.to("cpu", torch.float64), NotImplementedError, NO_DATA),
        (lambda t: torch.ones(1).copy_(t), NotImplementedError, NO_DATA),
        (lambda t: torch.ones(2).__setitem__(0, t[0]), NotImplementedError, NO_DATA),
        (lambda t: t.numpy(force=True), NotImplementedError, NO_DATA),
        (lambda t: t.numpy(), TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu()"),
        (lambda t: np.asarray(t), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda t: np.from_dlpack(t), BufferError, "Cannot pack tensors on meta"),
        (lambda t: t.nonzero(), NotImplementedError, r"The register_meta function for torch\.nonzero\(\) raises unimplemented"),
        (lambda t: t[t > 0], NotImplementedError, r"The register_meta function for torch\.nonzero\(\) raises unimplemented"),
        (lambda t: t.unique(), NotImplementedError, "aten::_unique2: attempted to run this operator with Meta tensors"),
        (lambda t: t.masked_select(t > 0), NotImplementedError, "aten::masked_select: attempted to run"),
        (lambda t: torch.bincount(t.long()), NotImplementedError, "aten::bincount: attempted to run"),
        (lambda t: torch.equal(t, t), NotImplementedError, "aten::equal: attempted to run"),
        (lambda t: t.repeat_interleave(t.long()), RuntimeError, "cannot repeat_interleave a meta tensor without output_size"),
        (lambda t: F.one_hot(t.long()), RuntimeError, NO_ITEM),
    ],
)  # fmt: skip
def test_reading_a_meta_tensor_is_refused(read, error, words):
    with pytest.raises(error, match=words):
        read(torch.ones(1, device="meta"))


@pytest.mark.parametrize(
    ("mixed", "found", "expected"),
    [
        (lambda m, c: m + c, "cpu", "meta"),
        (lambda m, c: c + m, "meta", "cpu"),
        (lambda m, c: torch.ones((), device="meta") + c, "cpu", "meta"),
        (lambda m, c: torch.cat([c, m]), "meta", "cpu"),
        (lambda m, c: m == c, "cpu", "meta"),
        # PyTorch lets these run, and reads arbitrary memory.
        (lambda m, c: m @ c.T, "cpu", "meta"),
        (lambda m, c: F.linear(c, m), "meta", "cpu"),
        (lambda m, c: c[torch.tensor([0], device="meta")], "meta", "cpu"),
    ],
)
def test_mixing_meta_tensors_with_others_is_refused(m, mixed, found, expected):
    with pytest.raises(RuntimeError, match=f"Tensor on device {found} is not on the expected device {expected}!"):
        mixed(m, torch.ones(2, 3))


def test_numbers_and_indices_may_be_on_the_cpu(m):
    assert (m + torch.tensor(2.0)).is_meta
    assert m[torch.tensor([0])].shape == (1, 3)
    assert F.embedding(torch.tensor([0, 1]), m).is_meta
    assert m[torch.ones(2, 3) > 0].shape == (6,)


def test_in_place_operations_write_to_meta_tensors(m):
    version = m._version
    m[0] = 3.0
    m[m > 0] = 1.0
    m[torch.tensor([0])] = 2.0
    m.copy_(torch.ones(2, 3)).add_(1).t().mul_(2)
    assert m._version - version == 6
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(5\)"):
        m.copy_(torch.ones(5))


def test_gradients_have_shapes():
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    (x * x).sum().backward()
    assert repr(x.grad) == "tensor(..., device='meta', size=(2, 3))"
    (grad,) = torch.autograd.grad((x.exp() * 2).sum(), x, create_graph=True)
    assert torch.autograd.grad(grad.sum(), x)[0].shape == (2, 3)
    with pytest.raises(
        RuntimeError, match="attempting to assign a gradient with device type 'cpu' to a tensor with device type 'meta'"
    ):
        x.grad = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="have incompatible tensor type"):
        x.data = torch.ones(2, 3)


def test_no_random_numbers_are_drawn(m):
    state = torch.get_rng_state()
    for drawn in (
        torch.randn(3, device="meta"), torch.randperm(3, device="meta"), torch.rand_like(m), torch.bernoulli(m), m.uniform_(),
        m.normal_(), torch.multinomial(m, 2), F.dropout(m), F.rrelu(m, training=True), torch.poisson(m), torch.normal(m, 1.0),
        torch.normal(0.0, 1.0, (2,), device="meta"), m.bernoulli_(0.3), F.gumbel_softmax(m), F.alpha_dropout(m, training=True),
    ):  # fmt: skip
        assert drawn.is_meta
    assert torch.equal(torch.get_rng_state(), state)


def test_factories_follow_the_default_device(m):
    with torch.device("meta"):
        made = [
            torch.ones(2),
            torch.tensor([1.0]),
            torch.randn(2),
            torch.arange(3),
            torch.as_tensor([1.0]),
            torch.full((2,), 1),
        ]
        assert all(t.is_meta for t in made)
        assert not torch.from_numpy(np.ones(2)).is_meta
    torch.set_default_device("meta")
    try:
        assert torch.zeros(2).is_meta and torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert torch.empty_like(torch.ones(2), device="meta").is_meta
    assert torch.zeros_like(m, device="cpu").tolist() == [[0.0] * 3] * 2
    assert torch.empty_strided((2, 3), (1, 2), device="meta").stride() == (1, 2)
    assert torch.ones(2).to("meta").is_meta and m.to("meta") is m


def test_meta_tensors_are_copied_and_saved(m):
    assert repr(copy.deepcopy(m)) == repr(pickle.loads(pickle.dumps(m))) == repr(m)
    file = io.BytesIO()
    torch.save({"plain": m, "turned": m.t(), "parameter": torch.nn.Parameter(m), "other": torch.ones(2)}, file)
    for where in (None, "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=where)
        assert repr(loaded["plain"]) == repr(m) and loaded["turned"].stride() == (1, 3)
        assert loaded["parameter"].requires_grad and loaded["other"].tolist() == [1.0, 1.0]
    file.seek(0)
    assert torch.load(file, map_location="meta")["other"].is_meta
