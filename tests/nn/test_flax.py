"""flax and torchlike together: NNX's functions on a module, and flax modules inside a torchlike module."""

import copy
import io
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx

import torchlike as torch
from torchlike import nn

pytestmark = [pytest.mark.composed, pytest.mark.optimized]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.leave = nn.Linear(4, 2)

    def forward(self, x):
        return self.leave(torch.relu(self.norm(self.enter(x))))


def loss_of(model, x):
    """Calls the module as JAX code does: takes arrays and returns an array."""
    return model(torch.from_jax(x)).square().mean().jax


X = jnp.arange(15.0).reshape(5, 3) / 10


def gradients(model, x=X):
    model.zero_grad()
    model(torch.from_jax(x)).square().mean().backward()
    return {name: p.grad.numpy() for name, p in model.named_parameters()}


def flat(state):
    return {".".join(map(str, path)): np.asarray(value[...]) for path, value in nnx.to_flat_state(state)}


# ---- NNX on a module


def test_a_module_is_one_of_nnxs():
    assert isinstance(nn.Linear(1, 1), nnx.Module)
    assert issubclass(nn.Module, nnx.Module)


def test_nnx_grad_gives_the_gradients_of_backward():
    model = Net()
    wanted = gradients(copy.deepcopy(model))
    value, found = nnx.value_and_grad(loss_of)(model, X)
    for name, gradient in flat(found).items():
        np.testing.assert_allclose(gradient, wanted[name], rtol=1e-5, atol=1e-6)
    assert value.shape == ()
    assert model.norm.num_batches_tracked.item() == 1  # the module has the buffers that the call changed


def test_nnx_grad_of_what_is_not_frozen():
    model = Net()
    model.enter.requires_grad_(False)
    trained = nnx.All(nnx.Param, lambda path, variable: variable.get_metadata().get("requires_grad", True))
    found = nnx.grad(loss_of, argnums=nnx.DiffState(0, trained))(model, X)
    assert sorted(flat(found)) == ["leave.bias", "leave.weight", "norm.bias", "norm.weight"]


def test_nnx_jit_keeps_what_a_call_does_to_buffers():
    model, plain = Net(), Net()
    plain.load_state_dict(model.state_dict())
    run = nnx.jit(lambda model, x: model(torch.from_jax(x)).jax)
    for _ in range(3):
        np.testing.assert_allclose(run(model, X), plain(torch.from_jax(X)).jax, rtol=1e-5, atol=1e-6)
    assert torch.allclose(model.norm.running_mean, plain.norm.running_mean)  # pyright: ignore[reportArgumentType]
    assert model.norm.num_batches_tracked.dtype is torch.int64
    assert model.norm.num_batches_tracked.item() == 3


def test_nnx_optimizer_trains_as_ours_does():
    model, plain = Net(), Net()
    plain.load_state_dict(model.state_dict())
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    ours = torch.optim.SGD(plain.parameters(), lr=0.1)

    @nnx.jit
    def step(model, optimizer, x):
        optimizer.update(model, nnx.grad(loss_of)(model, x))

    for _ in range(3):
        step(model, optimizer, X)
        gradients(plain)
        ours.step()
    for (name, mine), theirs in zip(model.named_parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


def test_split_merge_state_update_clone():
    model = Net().eval()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    assert sorted(flat(rest)) == ["norm.num_batches_tracked", "norm.running_mean", "norm.running_var"]
    again = nnx.merge(graph, params, rest, copy=True)
    x = torch.from_jax(X)
    assert torch.equal(again(x), model(x))
    nnx.update(model, jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param)))
    assert model(x).abs().sum().item() == 0
    assert again(x).abs().sum().item() > 0
    clone = nnx.clone(again)
    assert torch.equal(clone(x), again(x))
    assert type(clone) is Net
    assert clone.training is False


class Reader(nn.Module):
    """A model with an embedding, an LSTM, a normalisation and attention, so with buffers and parameters of all kinds."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.lstm = nn.LSTM(4, 2, batch_first=True, bidirectional=True)
        self.norm = nn.BatchNorm1d(4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.foreign = nnx.Linear(4, 1, rngs=nnx.Rngs(0))

    def forward(self, ids):
        x, _ = self.lstm(self.embedding(ids))
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return self.foreign(self.attention(x, x, x, need_weights=False)[0])


IDS = jnp.array([[0, 1, 2], [2, 3, 4]])  # int32, as JAX makes them: JAX warns about 64-bit types


def test_a_model_of_many_kinds_trains_under_nnx():
    model = Reader()

    @nnx.jit
    def step(model, optimizer, ids):
        loss, gradients = nnx.value_and_grad(nnx.remat(loss_of))(model, ids)
        optimizer.update(model, gradients)
        return loss

    optimizer = nnx.Optimizer(model, optax.sgd(0.01), wrt=nnx.Param)
    losses = [float(step(model, optimizer, IDS)) for _ in range(5)]
    assert losses[-1] < losses[0]
    assert model.norm.num_batches_tracked.item() == 5 and model.norm.num_batches_tracked.dtype is torch.int64
    model.eval()
    clone, ids = nnx.clone(model), torch.from_jax(IDS)
    assert torch.equal(clone(ids), model(ids))
    assert "BatchNorm1d" in str(clone) and len(list(nnx.iter_modules(clone))) == len(list(nnx.iter_modules(model)))  # pyright: ignore[reportArgumentType]


def test_shapes_of_a_module_without_its_values():
    there = nnx.eval_shape(Reader)
    shapes = jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), nnx.to_pure_dict(nnx.state(there)))
    assert shapes["lstm"]["weight_hh_l0_reverse"] == ((8, 2), "float32")
    assert shapes["foreign"]["kernel"] == ((4, 1), "float32")
    assert shapes["norm"]["num_batches_tracked"] == ((), "int64")
    weight = there.embedding.weight
    assert (weight.shape, weight.dtype, weight.requires_grad) == ((5, 4), torch.float32, True)
    assert repr(weight) == "<Parameter of shape (5, 4) and dtype float32, without values>"
    assert repr(copy.deepcopy(there).norm.running_var) == "<Tensor of shape (4,) and dtype float32, without values>"
    for use in (lambda: there(torch.from_jax(IDS)), there.state_dict, lambda: weight + 1):
        with pytest.raises(
            RuntimeError, match=r"^this tensor has a shape and no values, since its module was made by nnx\.eval"
        ):
            use()


def test_a_module_without_values_is_given_some():
    torch.manual_seed(0)
    model, ids = Reader().eval(), torch.from_jax(IDS)
    wanted = model(ids)
    updated, loaded = nnx.eval_shape(Reader), nnx.eval_shape(Reader)
    nnx.update(updated, nnx.state(model))
    loaded.load_state_dict(model.state_dict(), assign=True)
    graph, _ = nnx.split(nnx.eval_shape(Reader))
    for same in (updated, loaded, nnx.merge(graph, nnx.state(model))):
        assert type(same.lstm.weight_ih_l0) is nn.Parameter
        assert torch.equal(same.eval()(ids), wanted)


def test_a_module_made_under_jit_has_counts_in_64_bits():
    made = nnx.jit(lambda: nn.BatchNorm1d(2))()
    assert made.num_batches_tracked.dtype is torch.int64 and made.weight.tolist() == [1.0, 1.0]


def test_counts_that_jax_has_narrowed_get_their_64_bits_back():
    graph, state = nnx.split(nn.BatchNorm1d(2))
    narrow = jax.tree.map(lambda a: np.asarray(a, np.int32) if a.dtype == np.int64 else a, state)
    merged = nnx.merge(graph, narrow)
    assert merged.num_batches_tracked.dtype is torch.int64 and merged.weight.dtype is torch.float32


def test_vmap_over_inputs():
    model = Net().eval()
    run = nnx.vmap(lambda model, x: model(torch.from_jax(x)[None])[0].jax, in_axes=(None, 0))
    np.testing.assert_allclose(run(model, X), model(torch.from_jax(X)).jax, rtol=1e-5, atol=1e-6)


def test_a_module_inside_one_of_nnxs():
    class Outer(nnx.Module):
        def __init__(self):
            self.ours = nn.Linear(3, 2)
            self.theirs = nnx.Linear(2, 1, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.theirs(self.ours(torch.from_jax(x)).jax)

    outer = Outer()
    found = nnx.grad(lambda outer, x: outer(x).sum())(outer, X)
    assert sorted(flat(found)) == ["ours.bias", "ours.weight", "theirs.bias", "theirs.kernel"]


def test_orbax_saves_and_restores(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    model, other = Net(), Net()
    gradients(model)  # so that the statistics differ from the initial ones
    with checkpoint.StandardCheckpointer() as saver:
        saver.save(tmp_path / "state", nnx.state(model))
        saver.save(tmp_path / "pure", nnx.to_pure_dict(nnx.state(model)))
    with checkpoint.StandardCheckpointer() as saver:
        nnx.update(other, saver.restore(tmp_path / "state", nnx.state(other)))
        pure = saver.restore(tmp_path / "pure")
    again = Net()
    nnx.update(again, pure)
    for each in (other, again):
        for name, tensor in model.state_dict().items():
            assert torch.equal(each.state_dict()[name], tensor), name
            assert each.state_dict()[name].dtype is tensor.dtype


# ---- flax modules inside a module


class Block(nnx.Module):
    def __init__(self, rngs):
        self.enter = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.leave = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.leave(self.drop(nnx.relu(self.norm(self.enter(x)))))


def rngs():
    return nnx.Rngs(0)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.block = Block(rngs())
        self.last = nnx.bridge.ToNNX(linen.Dense(2), rngs=rngs()).lazy_init(jnp.ones((1, 2)))

    def forward(self, x):
        return self.last(self.block(self.first(x)))


def test_an_assigned_module_of_flaxs_becomes_one_of_ours():
    model = Mixed()
    assert isinstance(model.block, nn.Flax)
    assert repr(model) == (
        "Mixed(\n  (first): Linear(in_features=3, out_features=3, bias=True)\n  (block): Flax(Block)\n  (last): Flax(ToNNX)\n)"
    )
    assert [name for name, _ in model.named_parameters()][2:] == [
        "block.enter.bias", "block.enter.kernel", "block.leave.bias", "block.leave.kernel", "block.norm.bias", "block.norm.scale",
        "last.bias", "last.kernel",
    ]  # fmt: skip
    assert "block.norm.mean" in dict(model.named_buffers())
    assert model.block.enter.kernel.shape == (3, 4)


@pytest.mark.parametrize("training", [False, True])
def test_outputs_equal_those_of_flax(training):
    theirs = Block(rngs())
    ours = nn.Flax(Block(rngs()))
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    for module in (ours, theirs):
        module.train() if training else module.eval()
    for _ in range(3):  # every call draws another mask and changes the statistics
        np.testing.assert_allclose(ours(torch.tensor(x)).detach().numpy(), theirs(jnp.asarray(x)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.norm.mean.numpy(), theirs.norm.mean[...], rtol=1e-5, atol=1e-6)
    assert ours.drop.rngs.count.item() == theirs.drop.rngs.count[...]


def test_gradients_equal_those_of_flax():
    theirs = Block(rngs())
    ours = nn.Flax(theirs)
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    given = torch.tensor(x, requires_grad=True)
    ours(given).square().sum().backward()
    wanted, of_x = nnx.grad(lambda m, x: jnp.square(m(x)).sum(), argnums=(0, 1))(theirs, jnp.asarray(x))
    for name, gradient in flat(wanted).items():
        np.testing.assert_allclose(ours.get_parameter(name).grad.numpy(), gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(given.grad.numpy(), of_x, rtol=1e-4, atol=1e-5)


def test_a_wrapped_module_trains_and_compiles_nothing_after_warm_up():
    model = Mixed()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 3), torch.randn(16, 2)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    losses, compiled = [], []
    for _ in range(30):
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        compiled.append(torch.explain().compiles)
    assert sum(losses[-5:]) < sum(losses[:5])
    assert all(not torch.equal(p, before[name]) for name, p in model.named_parameters())
    assert compiled[-1] == compiled[5]


def test_modes_are_flaxs_own():
    model = Mixed()
    x = torch.randn(4, 3)
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))
    mean = model.block.norm.mean.clone()
    model.train()(x)
    assert not torch.equal(model.block.norm.mean, mean)  # pyright: ignore[reportArgumentType]


def test_a_wrapped_module_is_saved_moved_and_copied():
    model, other, file = Mixed(), Mixed(), io.BytesIO()
    model(torch.randn(4, 3))
    torch.save(model.state_dict(), file)
    file.seek(0)
    assert str(other.load_state_dict(torch.load(file))) == "<All keys matched successfully>"
    x = torch.randn(2, 3)
    for each in (model, other):
        each.eval()
    assert torch.equal(model(x), other(x))
    copied = copy.deepcopy(model)
    assert torch.equal(copied(x), model(x))
    assert copied.block.enter.kernel is not model.block.enter.kernel
    model.double()
    assert model(x.double()).dtype is torch.float64
    assert model.block.enter.kernel.dtype is torch.float64
    assert copied.block.enter.kernel.dtype is torch.float32


def test_the_flax_module_is_given_back_with_todays_arrays():
    ours = nn.Flax(nnx.Linear(2, 2, rngs=rngs()))
    with torch.no_grad():
        ours.kernel.fill_(1)
    theirs = ours.flax
    assert type(theirs) is nnx.Linear
    np.testing.assert_array_equal(theirs(jnp.ones((1, 2))), [[2, 2]])


def test_in_containers_and_with_the_state_of_a_recurrent_cell():
    model = nn.Sequential(nn.Flatten(), nnx.Linear(4, 3, rngs=rngs()))
    model.append(nnx.Linear(3, 1, rngs=rngs()))  # pyright: ignore[reportArgumentType]
    assert model(torch.ones(2, 2, 2)).shape == (2, 1)
    assert repr(nn.ModuleList([nnx.Linear(1, 1, rngs=rngs())])) == "ModuleList(\n  (0): Flax(Linear)\n)"  # pyright: ignore[reportArgumentType]
    assert isinstance(nn.ModuleDict({"a": nnx.Linear(1, 1, rngs=rngs())})["a"], nn.Flax)
    cell = nn.Flax(nnx.LSTMCell(2, 3, rngs=rngs()))
    state, out = cell((torch.zeros(1, 3), torch.zeros(1, 3)), torch.ones(1, 2))
    assert [each.shape for each in state] == [(1, 3), (1, 3)]
    out.sum().backward()
    assert nn.Flax(nnx.Embed(5, 2, rngs=rngs()))(torch.tensor([[1, 2]])).shape == (1, 2, 2)


def test_a_linen_module_with_statistics_and_dropout():
    class Layers(linen.Module):
        @linen.compact
        def __call__(self, x, train):
            x = linen.BatchNorm(use_running_average=not train)(linen.Dense(3)(x))
            return linen.Dropout(0.5, deterministic=not train)(x)

    layers = nnx.bridge.ToNNX(Layers(), rngs=nnx.Rngs(0, dropout=1)).lazy_init(jnp.ones((4, 2)), False)
    model = nn.Flax(layers)
    assert "Dense_0.kernel" in model.state_dict()
    x = torch.randn(8, 2)
    first, second = (model(x, True, mutable=["batch_stats"]) for _ in range(2))
    assert not torch.equal(first, second)
    assert model.BatchNorm_0.mean.abs().sum().item() > 0
    assert torch.equal(model(x, False), model(x, False))


def test_nnx_sees_foreign_modules_too():
    model = Mixed()
    found = nnx.grad(loss_of)(model, X)
    model.block.train()
    names = [name for name, _ in model.named_parameters()]
    assert sorted(flat(found)) == sorted(names)
    state = nnx.state(model)
    other = Mixed()
    nnx.update(other, state)
    assert torch.equal(other.eval()(torch.ones(1, 3)), model.eval()(torch.ones(1, 3)))


def test_under_jax_jit():
    model = nn.Sequential(nn.Linear(3, 3), nnx.Linear(3, 2, rngs=rngs()))
    run = jax.jit(lambda x: model(torch.from_jax(x)).jax)
    np.testing.assert_allclose(run(X), model(torch.from_jax(X)).jax, rtol=1e-5, atol=1e-6)


def test_errors():
    with pytest.raises(
        ValueError, match=r"^Dense has no variables yet: call lazy_init\(example input\) on it before it becomes part"
    ):
        nn.Flax(nnx.bridge.ToNNX(linen.Dense(2), rngs=rngs()))
    with pytest.raises(
        TypeError, match=r"^Flax\(\) takes an NNX module, not int; a linen module goes into nnx\.bridge\.ToNNX first$"
    ):
        nn.Flax(3)
    with pytest.raises(
        pickle.PicklingError,
        match="Block is a flax module, which holds functions that cannot be pickled: save its state_dict",
    ):
        torch.save(nn.Flax(Block(rngs())), io.BytesIO())

    class Grows(nnx.Module):
        def __call__(self, x):
            self.seen = nnx.Variable(x)
            return x

    with pytest.raises(NotImplementedError, match=r"Grows makes new variables when it is called \(.*seen.*\)"):
        nn.Flax(Grows())(torch.ones(1))
