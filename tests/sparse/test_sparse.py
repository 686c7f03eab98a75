"""Sparse tensors: printed forms, results and gradients are PyTorch's."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.sparse import expressions

pytestmark = pytest.mark.composed


@pytest.mark.parametrize("expression", expressions.EXPRESSIONS)
def test_an_expression_shows_what_it_shows_in_pytorch(golden, expression):
    assert expressions.shown(torch, expression) == golden("sparse")["shown"][expression]


@pytest.mark.parametrize("loss", expressions.LOSSES)
def test_gradients_are_pytorchs_also_when_they_add_up(golden, loss):
    expected = golden("sparse")["gradients"][loss]
    actual = expressions.gradients(torch, loss)
    assert actual.keys() == expected.keys()
    for name, gradient in actual.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", expressions.OPTIMIZERS)
def test_a_table_with_sparse_gradients_is_trained_as_by_pytorch(golden, name):
    expected, actual = golden("sparse")["trained"][name], expressions.trained(torch, name)
    if isinstance(expected, str):
        assert actual == expected
    else:
        np.testing.assert_allclose(actual, expected, rtol=5e-6, atol=1e-6)  # float32, added in another order


def coo(values, requires_grad=False) -> Any:
    index = torch.tensor([[0, 1, 1], [2, 0, 2]])
    return torch.sparse_coo_tensor(index, values, (2, 3), requires_grad=requires_grad)


FUNCTIONS = {
    "product": lambda v, d: torch.sparse.mm(coo(v), d),
    "the other way round": lambda v, d: d.t() @ coo(v).t(),
    "uncoalesced": lambda v, d: torch.sparse.mm(torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], v, (2, 3)), d),
    "rows": lambda v, d: torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)) @ d,
    "means of rows": lambda v, d: torch.sparse.mm(torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)), d, "mean"),
    "largest of rows": lambda v, d: torch.sparse.mm(
        torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)), d, "amax"
    ),
    "two sparse": lambda v, d: torch.sparse.mm(coo(v), coo(v).t()).to_dense(),
    "with a dense": lambda v, d: (coo(v) * d.t()).to_dense(),
    "sum with a dense": lambda v, d: (d.t() - coo(v)).square(),
    "sine": lambda v, d: coo(v).sin().to_dense(),
    "softmax": lambda v, d: torch.sparse.softmax(coo(v), 1).to_dense(),
    "logarithm of softmax": lambda v, d: torch.sparse.log_softmax(coo(v), 0).to_dense(),
    "joined": lambda v, d: torch.cat([coo(v), coo(v * v)], 1).to_dense(),
    "selected": lambda v, d: coo(v).index_select(1, torch.tensor([2, 2])).to_dense(),
    "one row": lambda v, d: coo(v)[1].to_dense(),
    "sums of rows": lambda v, d: torch.sparse.sum(coo(v) * 2, 1).to_dense(),
    "masked": lambda v, d: torch.sparse.mm(d.t().sparse_mask(coo(v.detach())), d),
    "sampled": lambda v, d: torch.sparse.sampled_addmm(
        torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)), d[:2], d.t()
    ).values(),
    "from dense": lambda v, d: torch.sparse.mm(d.to_sparse(), d.t()),
    "norm": lambda v, d: coo(v).norm(),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_are_those_of_finite_differences(name):
    v = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    d = torch.tensor([[1.0, 2.0], [-0.5, 0.3], [0.7, -2.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(FUNCTIONS[name], (v, d))
    assert torch.autograd.gradgradcheck(FUNCTIONS[name], (v, d))


def test_the_gradient_of_a_sparse_leaf_is_sparse_and_stands_where_its_elements_do():
    a = coo(torch.tensor([3.0, 4.0, 5.0])).coalesce().requires_grad_()
    (a @ torch.ones(3, 2)).sum().backward()
    assert a.grad.layout is torch.sparse_coo and a.grad.indices().tolist() == a.indices().tolist()
    assert a.grad.values().tolist() == [2.0, 2.0, 2.0]


def test_a_gradient_asked_for_or_hooked_is_sparse():
    table = torch.nn.Parameter(torch.ones(3, 2))
    seen = []
    table.register_hook(lambda grad: seen.append(grad.is_sparse) or grad * 2)
    loss = torch.nn.functional.embedding(torch.tensor([2, 2]), table, sparse=True).sum()
    (grad,) = torch.autograd.grad(loss, table, retain_graph=True)
    assert grad.is_sparse and grad.to_dense().tolist() == [[0, 0], [0, 0], [4, 4]]
    loss.backward()
    assert seen == [True, True] and table.grad.coalesce().values().tolist() == [[4, 4]]


def test_sparse_and_dense_gradients_of_one_leaf_add_up_to_a_dense_one():
    table = torch.nn.Parameter(torch.ones(3, 2))
    torch.nn.functional.embedding(torch.tensor([2]), table, sparse=True).sum().backward()
    (table * 2).sum().backward()
    assert not table.grad.is_sparse and table.grad.tolist() == [[2, 2], [2, 2], [3, 3]]
    torch.nn.functional.embedding(torch.tensor([0]), table, sparse=True).sum().backward()
    assert table.grad.tolist() == [[3, 3], [2, 2], [3, 3]]


def test_a_function_of_the_users_gets_and_gives_sparse_tensors():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, sparse, dense):
            ctx.save_for_backward(sparse, dense)
            return torch.sparse.mm(sparse, dense)

        @staticmethod
        def backward(ctx, grad):
            sparse, dense = ctx.saved_tensors
            return (grad @ dense.t()).sparse_mask(sparse), sparse.t() @ grad

    a = coo(torch.tensor([3.0, 4.0, 5.0])).coalesce().requires_grad_()
    x = torch.ones(3, 2, requires_grad=True)
    Product.apply(a, x).sum().backward()
    assert a.grad.values().tolist() == [2, 2, 2] and x.grad.tolist() == [[4, 4], [0, 0], [8, 8]]


def test_values_are_shared_and_copies_are_not():
    values = torch.tensor([3.0, 4.0, 5.0])
    a = coo(values)
    copies: list[Any] = [a.clone(), copy.deepcopy(a), copy.deepcopy(torch.nn.Parameter(a))]
    empty: Any = torch.sparse_coo_tensor(size=(2, 3))
    empty.copy_(a)
    values.mul_(10)
    a._values().add_(1)
    assert a._values().tolist() == [31, 41, 51] and a.detach()._values().tolist() == [31, 41, 51]
    assert [each._values().tolist() for each in (*copies, empty)] == [[3, 4, 5]] * 4


@pytest.mark.parametrize("write", [lambda a: torch.save(a, f := io.BytesIO()) or f.seek(0) or torch.load(f),
                                   lambda a: pickle.loads(pickle.dumps(a))])  # fmt: skip
def test_a_sparse_tensor_is_saved_and_loaded(write):
    parameter = torch.nn.Parameter(torch.eye(3).to_sparse())
    for tensor in (
        coo(torch.tensor([3.0, 4.0, 5.0])),
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse_csr(),
        parameter,
    ):
        back = write(tensor)
        assert repr(back) == repr(tensor) and type(back) is type(tensor)
        if tensor.is_sparse:
            assert back.is_coalesced() == tensor.is_coalesced()


def test_a_file_with_wrong_indices_is_refused():
    file = io.BytesIO()
    torch.save(torch.sparse_coo_tensor([[7]], [1.0], (2,)), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 7"):
        torch.load(file)


def test_a_module_holds_sparse_tensors():
    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", torch.eye(3).to_sparse())
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(torch.sparse.mm(self.adjacency, x))

    model = Graph().double()
    assert model.adjacency.dtype is torch.float64 and model.adjacency.is_sparse
    other = Graph().double()
    other.load_state_dict(model.state_dict())
    x = torch.ones(3, 2, dtype=torch.float64)
    assert torch.equal(other(x), model(x)) and other.adjacency._nnz() == 3


@pytest.mark.recorded
def test_the_loop_over_a_graph_network_is_one_program():
    torch.manual_seed(0)
    index = torch.randint(0, 20, (2, 60))
    adjacency = torch.sparse_coo_tensor(index, torch.ones(60) / 3, (20, 20)).coalesce()
    x, target = torch.randn(20, 4), torch.randint(0, 3, (20,))
    first, second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)

    def step():
        optimizer.zero_grad()
        hidden = torch.relu(torch.sparse.mm(adjacency, first(x)))
        loss = torch.nn.functional.cross_entropy(adjacency @ second(hidden), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    losses = [step() for _ in range(5)]
    before = torch.explain()
    losses += [step() for _ in range(25)]
    after = torch.explain()
    assert losses[-1] < 0.7 * losses[0]
    assert (after.compiles - before.compiles, after.segments - before.segments <= 50) == (0, True)


def test_what_is_not_there_says_what_to_do():
    a = torch.eye(2).to_sparse()
    blocks = torch.eye(2).to_sparse_bsr((1, 1))
    for call in (
        lambda: blocks / 2,
        lambda: blocks * torch.ones(2, 2),
        lambda: blocks @ blocks,
        lambda: blocks[0],
        blocks.any,
    ):
        with pytest.raises(
            NotImplementedError, match=r"Could not run 'aten::.* with arguments from the 'SparseCsrCPU' .*to_dense"
        ):
            call()
    with pytest.raises(
        NotImplementedError, match=r"Could not run 'aten::exp' with arguments from the 'SparseCPU' .*to_dense"
    ):
        a.exp()
    with pytest.raises(NotImplementedError, match=r"to_dense\(\) first"):
        a.tolist()
    with pytest.raises(RuntimeError, match="do not have strides"):
        a.stride()


def test_a_dense_result_is_never_written_into_a_sparse_tensor():
    a: Any = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="cannot be written into a sparse tensor"):
        a.copy_(torch.ones(2, 2))
    with pytest.raises(NotImplementedError, match="aten::set_"):
        a.set_(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        torch.ones(2, 2).data = a
    with pytest.raises(NotImplementedError, match="aten::nan_to_num"):
        a.nan_to_num(torch.ones(2))


def test_sparse_tensors_are_compared_by_assert_close():
    a = torch.eye(2).to_sparse()
    torch.testing.assert_close(a, a * 1)
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 4"):
        torch.testing.assert_close(a, a * 2)
    with pytest.raises(AssertionError, match="layout"):
        torch.testing.assert_close(a, a.to_dense())


def test_whether_indices_are_looked_at_is_a_switch_a_context_and_a_decorator():
    check = torch.sparse.check_sparse_tensor_invariants
    wrong = lambda: torch.sparse_coo_tensor([[5]], [1.0], (2,))  # noqa: E731
    wrong()
    for guarded in (check()(wrong), lambda: check.enable() or wrong()):
        with pytest.raises(RuntimeError, match="size is 2 but found index 5"):
            guarded()
    assert check.is_enabled()
    with check(False):
        wrong()
    check.disable()
    assert not check.is_enabled()


@pytest.mark.parametrize("alpha", [1, 3])
@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("dense", [False, True])
def test_sums_of_two_dtypes_are_computed_in_the_common_one(name, alpha, dense):
    signed = torch.tensor([1, -2, 0], dtype=torch.int8)
    unsigned = torch.tensor([3, 200, 5], dtype=torch.uint8)
    function = getattr(torch, name)
    for a, b in ((signed, unsigned), (unsigned, signed)):
        total = function(a if dense else a.to_sparse(), b.to_sparse(), alpha=alpha)
        expected = function(a.short(), b.short(), alpha=alpha)
        assert total.dtype is torch.int16 and total.to_dense().tolist() == expected.tolist()


@pytest.mark.parametrize("layout", ["coo", "csr", "bsr"])
def test_gradients_of_elements_that_are_not_stored(layout):
    make = {
        "coo": lambda x: x.to_sparse(),
        "csr": lambda x: x.to_sparse_csr(),
        "bsr": lambda x: x.to_sparse_bsr((1, 2)),
    }
    x = make[layout](torch.tensor([[1.0, 0.0], [0.0, 0.0]])).requires_grad_()
    (x.to_dense(masked_grad=False) * 3).sum().backward()
    assert x.grad.layout is x.layout
    assert x.grad.to_dense().tolist() == [[3.0, 3.0], [3.0, 3.0]]
    x.grad = None
    (x.to_dense() * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.to_dense().tolist() == ([[3.0, 3.0], [0.0, 0.0]] if layout == "bsr" else [[3.0, 0.0], [0.0, 0.0]])


def test_conjugates_have_memory_of_their_own():
    dense = torch.eye(2, dtype=torch.complex64) * (1 + 2j)
    for x in (dense.to_sparse(), dense.to_sparse_csr()):
        for result in (x.conj(), x.conj_physical()):
            assert not result.is_conj() and result.layout is x.layout
            assert torch.equal(result.to_dense(), dense.conj().resolve_conj())
    x = dense.to_sparse().requires_grad_()
    x.conj().to_dense().abs().sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.to_dense().diagonal(), torch.full((2,), (1 + 2j) / 5**0.5))


KEPT = {
    "to_dense": lambda x: x,
    "clone": lambda x: x.clone(),
    "to": lambda x: x.to(torch.float64),
    "device": lambda x: x.to("cpu", copy=True),
    "copy_": lambda x: torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 3)).copy_(x),
    "clone twice": lambda x: x.clone().clone(),
    "coalesce": lambda x: x.coalesce(),
    "transpose": lambda x: x.t().t(),
    "number": lambda x: x * 1,
    "sum": lambda x: x + torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 3)),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("dense_dims", [(), (2,)])
def test_an_index_that_comes_twice_has_its_gradient_once(name: str, dense_dims: tuple[int, ...]) -> None:
    if dense_dims and name in ("copy_", "sum", "transpose"):
        pytest.skip("made for elements without dimensions")
    x = torch.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 0]], torch.ones(3, *dense_dims), (2, 3, *dense_dims)
    ).requires_grad_()
    weight = torch.arange(1.0, 1 + x.numel()).reshape(x.shape)
    (KEPT[name](x).to_dense() * weight).sum().backward()
    stored = torch.zeros(2, 3, *dense_dims)
    stored[[0, 1], [2, 0]] = 1
    assert x.grad is not None
    assert torch.equal(x.grad.to_dense(), weight * stored)
