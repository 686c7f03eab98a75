"""Another shape for a tensor, by ``resize_`` and by ``out=``: the memory stays that of the tensors that share it."""

import warnings

import pytest

import torchlike as torch


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "An output with one or more elements was resized")
        yield


def test_out_of_another_shape_is_written_where_it_lies():
    whole = torch.zeros(3, 4)
    row = whole[1]
    torch.add(torch.arange(5.0), 1, out=row)
    assert row.tolist() == [1, 2, 3, 4, 5]
    assert whole.tolist() == [[0, 0, 0, 0], [1, 2, 3, 4], [5, 0, 0, 0]]
    assert (row.storage_offset(), row._version) == (4, 1)


def test_other_tensors_keep_their_shape_where_out_becomes_smaller():
    whole = torch.zeros(6)
    rest = whole[3:]
    torch.add(torch.arange(2.0), 1, out=whole)
    rest.add_(7)
    assert (whole.tolist(), rest.tolist()) == ([1, 2], [7, 7, 7])
    torch.ones(2, out=rest)
    assert rest.tolist() == [1, 1]


def test_an_empty_out_leaves_its_aliases_empty():
    x = torch.zeros(0)
    alias = x.detach()
    torch.add(torch.ones(2), 1, out=x)
    torch.add(torch.ones(3), 1, out=alias.data)
    assert (x.tolist(), x._version, alias.tolist()) == ([2, 2], 1, [])


def test_complex_views():
    z = torch.zeros(3, dtype=torch.complex64)
    torch.add(torch.arange(2.0), 1, out=z.real)
    assert z.tolist() == [1 + 2j, 0, 0]
    torch.mul(torch.ones(2, dtype=torch.complex64), 1 + 1j, out=z.conj())
    assert z.tolist() == [1 - 1j, 1 - 1j, 0]


def test_a_parameter_takes_a_result_of_another_shape():
    parameter = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        torch.add(torch.arange(5.0), 1, out=parameter)
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            parameter.resize_(2)
    assert parameter.tolist() == [1, 2, 3, 4, 5]
    assert parameter.is_leaf
    (parameter * parameter).sum().backward()
    assert parameter.grad.tolist() == [2, 4, 6, 8, 10]
    assert torch.zeros(0, dtype=torch.complex64).conj().resize_(2).is_conj()


def test_longer_memory_begins_with_the_old():
    x = torch.full((3,), 3.0)
    x.resize_(2, 3)[1] = 7
    assert x.tolist() == [[3, 3, 3], [7, 7, 7]]
    assert x._version == 2
    part = torch.arange(4.0)[1:]  # nobody else has the memory any more
    part.resize_(5)
    assert part[:3].tolist() == [1, 2, 3]
    assert (part.storage_offset(), part.untyped_storage().nbytes()) == (1, 24)


@pytest.mark.parametrize("share", [lambda x: x[1:], lambda x: x.data, lambda x: x.untyped_storage()])
def test_memory_that_others_share_cannot_grow(share):
    x = torch.arange(3.0)
    other = share(x)
    with pytest.raises(NotImplementedError, match="other tensors share the memory"):
        x.resize_(5)
    with pytest.raises(NotImplementedError, match="other tensors share the memory"):
        torch.add(torch.zeros(5), 1, out=x)
    assert x.tolist() == [0, 1, 2]
    del other
    assert x.resize_(5).tolist()[:3] == [0, 1, 2]


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
@pytest.mark.parametrize("resize", [lambda x: x.resize_(1, 2), lambda x: x.resize_as_(torch.ones(1, 2))])
def test_a_tensor_that_requires_grad_is_resized_in_inference_mode_only(mode, resize):
    x = torch.ones(1, 2, 3, requires_grad=True)
    with mode():
        if mode is not torch.inference_mode:
            with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
                resize(x)
            return
        inference = torch.ones(1, 2, 3, requires_grad=True)
        for each in (x, inference):
            resize(each)
            assert (tuple(each.shape), each.requires_grad) == ((1, 2), True)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        resize(inference)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ([2, 4, 2**29, 2**29], r"Storage size calculation overflowed with sizes=\[2, 4, 536870912, 536870912\]"),
        ([8, 8, 2**29, 2**29], "numel: integer multiplication overflow|Storage size calculation overflowed"),
        ([0, 4, 2**61], "Stride calculation overflowed"),
        ([0, 2**62, 2**62], "Stride calculation overflowed"),
    ],
    ids=str,
)
def test_sizes_that_no_memory_can_have_are_refused_at_once(size, words):
    for make in (
        torch.empty(()).double().resize_, lambda size: torch.zeros(size, dtype=torch.float64),
        lambda size: torch.empty(size, dtype=torch.float64), lambda size: torch.rand(size, dtype=torch.float64),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            make(size)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones([1] * 65),
        lambda: torch.empty([1] * 65),
        lambda: torch.rand([1] * 65),
        lambda: torch.empty_strided([1] * 65, [1] * 65),
        lambda: torch.ones([1] * 64).unsqueeze(0),
        lambda: torch.ones(1).reshape([1] * 65),
        lambda: torch.stack([torch.ones([1] * 64)] * 2),
        lambda: torch.tensordot(torch.ones([1] * 40), torch.ones([1] * 40), dims=0),
        lambda: torch.ones([1] * 65, device="meta"),
    ],
)
def test_more_than_64_dimensions_are_refused_in_words(make):
    assert torch.ones([1] * 64).sum().item() == 1
    with pytest.raises(NotImplementedError, match="torchlike does not support tensors of more than 64 dimensions"):
        make()


@pytest.mark.parametrize(
    ("size", "stride"), [((10,), (0,)), ((2, 3, 4), (1, 4, 12)), ((2, 3, 4), (1, 0, 1)), ((10,), (1,))]
)
@pytest.mark.parametrize("start", [0, 2])
def test_in_deterministic_mode_only_new_memory_is_filled(size, stride, start):
    held = start + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    x = torch.zeros(held + 1).as_strided(size, stride, start)
    held = len(x.untyped_storage()) // 4
    torch.use_deterministic_algorithms(True)
    try:
        x.resize_(40)
    finally:
        torch.use_deterministic_algorithms(False)
    assert x.isnan().tolist() == [start + i >= held for i in range(40)]
