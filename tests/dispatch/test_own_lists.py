"""A list or tuple of a class of the program's (Keras' TrackedList, say) means what a plain one means, in every function."""

from collections import namedtuple

import pytest

import torchlike as torch
from tests.ops.samples import Call
from tests.ops.test_catalog import assert_same, ids, is_random, make, numpy
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.dispatch.opdef import CATALOG

F = torch.nn.functional


class Own(list):
    """Has no hash, as every list."""


class OwnTuple(tuple):
    """Equal to a plain tuple, and of another type."""


class Nested(list):
    """For what is in another one."""


KINDS = {"list": Own, "tuple": OwnTuple}


def own(value, kind):
    """The value with lists and tuples of another class, those within it too."""
    if type(value) in (list, tuple):
        return kind([own(each, Nested if kind is Own else kind) for each in value])
    return value


CALLS = [
    call for name in sorted(CATALOG) for number in range(len(CATALOG[name].samples)) for call in [Call(CATALOG[name], number, "float32")]
    if not is_random(call) and any(isinstance(v, (list, tuple)) for v in (*call.sample.args, *call.sample.kwargs.values()))
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("call", CALLS, ids=ids(CALLS))
def test_in_every_operator(call, kind):
    function = FUNCTIONS[call.op.name]
    try:
        made, kwargs, _ = make(call)
        expected = function(*made, **kwargs)
    except (RuntimeError, NotImplementedError):
        pytest.skip("not of float32")
    found = function(*own(tuple(made), kind), **{name: own(value, kind) for name, value in kwargs.items()})
    again = function(*own(tuple(made), kind), **{name: own(value, kind) for name, value in kwargs.items()})
    assert_same(found, expected)
    assert_same(again, expected)


X = torch.arange(24.0).reshape(2, 3, 4)
IMAGE = torch.arange(64.0).reshape(1, 1, 8, 8)
WEIGHT = torch.ones(1, 1, 2, 2)
COMPOSED = {
    "reshape": lambda s: X.reshape(s([4, 6])),
    "view": lambda s: X.view(s([4, 6])),
    "permute": lambda s: X.permute(s([2, 0, 1])),
    "torch.permute": lambda s: torch.permute(X, s([2, 0, 1])),
    "expand": lambda s: X[:1].expand(s([5, 3, 4])),
    "broadcast_to": lambda s: torch.broadcast_to(X[0], s([2, 3, 4])),
    "repeat": lambda s: X.repeat(s([1, 2, 1])),
    "tile": lambda s: X.tile(s([2, 1])),
    "flip": lambda s: X.flip(s([0, 2])),
    "roll": lambda s: X.roll(s([1, 2]), s([0, 1])),
    "rot90": lambda s: torch.rot90(X, 1, s([0, 1])),
    "sum": lambda s: X.sum(s([0, 1])),
    "mean": lambda s: X.mean(dim=s([0, 1]), keepdim=True),
    "amax": lambda s: X.amax(s([0, 1])),
    "var": lambda s: X.var(s([0, 1])),
    "std_mean": lambda s: torch.std_mean(X, s([0, 1])),
    "norm": lambda s: torch.norm(X, dim=s([0, 1])),
    "linalg.norm": lambda s: torch.linalg.norm(X, dim=s([0, 1])),
    "vector_norm": lambda s: torch.linalg.vector_norm(X, dim=s([0, 1])),
    "matrix_norm": lambda s: torch.linalg.matrix_norm(X, dim=s([0, 1])),
    "logsumexp": lambda s: X.logsumexp(s([0, 1])),
    "all": lambda s: torch.all(X, s([0, 1])),
    "squeeze": lambda s: X[:1].squeeze(s([0, 1])),
    "movedim": lambda s: X.movedim(s([0, 1]), s([1, 0])),
    "unflatten": lambda s: X.unflatten(2, s([2, 2])),
    "split": lambda s: X.split(s([1, 2]), 1),
    "tensor_split": lambda s: X.tensor_split(s([1, 2]), 2),
    "tensordot": lambda s: torch.tensordot(X, X, dims=s([s([1]), s([1])])),
    "cat": lambda s: torch.cat(s([X, X])),
    "stack": lambda s: torch.stack(s([X, X])),
    "block_diag": lambda s: torch.block_diag(*s([X[0], X[1]])),
    "zeros": lambda s: torch.zeros(s([2, 3])),
    "ones": lambda s: torch.ones(s([2, 3])),
    "full": lambda s: torch.full(s([2, 3]), 2.0),
    "empty": lambda s: torch.empty(s([2, 3])).zero_(),
    "rand": lambda s: torch.rand(s([2, 3])) * 0,
    "randn": lambda s: torch.randn(s([2, 3])) * 0,
    "randint": lambda s: torch.randint(3, s([2, 3])) * 0,
    "normal": lambda s: torch.normal(0.0, 1.0, s([2, 3])) * 0,
    "new_zeros": lambda s: X.new_zeros(s([2, 3])),
    "new_full": lambda s: X.new_full(s([2, 3]), 1.0),
    "as_strided": lambda s: X.as_strided(s([2, 2]), s([1, 2])),
    "pad": lambda s: F.pad(X, s([1, 1])),
    "interpolate": lambda s: F.interpolate(IMAGE, size=s([4, 4])),
    "scaled": lambda s: F.interpolate(IMAGE, scale_factor=s([0.5, 2.0])),
    "conv2d": lambda s: F.conv2d(IMAGE, WEIGHT, stride=s([1, 2]), padding=s([1, 0]), dilation=s([1, 1])),
    "conv_transpose2d": lambda s: F.conv_transpose2d(IMAGE, WEIGHT, stride=s([1, 2])),
    "avg_pool2d": lambda s: F.avg_pool2d(IMAGE, s([2, 2]), s([1, 2]), s([1, 1])),
    "max_pool2d": lambda s: F.max_pool2d(IMAGE, s([2, 2]), s([1, 2])),
    "adaptive": lambda s: F.adaptive_avg_pool2d(IMAGE, s([2, 3])),
    "unfold": lambda s: F.unfold(IMAGE, s([2, 2]), stride=s([2, 2])),
    "layer_norm": lambda s: F.layer_norm(X, s([3, 4])),
    "rms_norm": lambda s: F.rms_norm(X, s([3, 4])),
    "LayerNorm": lambda s: torch.nn.LayerNorm(s([3, 4]))(X),
    "Conv2d": lambda s: torch.nn.Conv2d(1, 1, s([2, 2]))(IMAGE) * 0,
    "fftn": lambda s: torch.fft.fftn(X, dim=s([0, 1])).real,
    "fftshift": lambda s: torch.fft.fftshift(X, s([0, 1])),
    "count_nonzero": lambda s: X.count_nonzero(s([0, 1])),
    "tensor": lambda s: torch.tensor(s([1.0, 2.0])),
    "einsum": lambda s: torch.einsum("ijk,ijk->i", s([X, X])),
    "index_put": lambda s: X.index_put(s([torch.tensor([0])]), torch.tensor(1.0)),
    "meshgrid": lambda s: torch.meshgrid(s([X[0, 0], X[0, 1]]), indexing="ij"),
    "nanmean": lambda s: X.nanmean(s([0, 1])),
    "unflatten layer": lambda s: torch.nn.Unflatten(2, s([2, 2]))(X),
    "index": lambda s: X[s([1, 0])],
    "set": lambda s: torch.zeros(3).index_fill(0, torch.tensor(s([1])), 1.0),
    "reshape_as": lambda s: X.resize_(s([2, 3, 4])),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("name", COMPOSED)
def test_in_functions_that_users_call(name, kind):
    plain = list if kind is Own else tuple
    expected, found = COMPOSED[name](plain), COMPOSED[name](kind)
    if isinstance(expected, torch.Tensor):
        expected, found = [expected], [found]
    assert len(expected) == len(found)
    for each, other in zip(expected, found, strict=True):
        assert each.shape == other.shape and (numpy(each) == numpy(other)).all()


def test_a_named_tuple_means_its_numbers():
    size = namedtuple("size", "height width")
    assert torch.zeros(size(2, 3)).shape == X.sum(size(0, 1)).new_zeros(size(2, 3)).shape == (2, 3)


def test_a_size_is_not_mistaken_for_the_key_of_another_sequence():
    for first, second in (([0], (1, 0)), ([1], (1, 1)), ([0, 1], (2, 0, 1))):
        assert X.sum(first).shape == tuple(n for i, n in enumerate(X.shape) if i not in first)
        if len(set(second)) == len(second):
            assert X.sum(torch.Size(second)).shape == X.sum(list(second)).shape
    rows = X.flip([0])
    assert (X.flip(torch.Size((1, 0))) == X.flip([1, 0])).all() and (rows == X.flip(0)).all()
