"""Random tensors are PyTorch's for a seed; generators save and restore their states; random results have PyTorch's gradients."""

from typing import Any

import pytest

import torchlike as torch
import torchlike.nn.functional as F

pytestmark = pytest.mark.single

# Printed by PyTorch 2.13 on the CPU after manual_seed(0).
STREAMS = [
    (lambda: torch.rand(3), [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
    (lambda: torch.randn(3), [1.5409960746765137, -0.293428897857666, -2.1787893772125244]),
    (lambda: torch.randint(10, (4,)), [4, 9, 3, 0]),
    (lambda: torch.randperm(4), [0, 1, 3, 2]),
    (lambda: torch.empty(2).uniform_(-1, 1), [-0.007486820220947266, 0.5364435911178589]),
]


@pytest.mark.parametrize(("draw", "expected"), STREAMS)
def test_streams(draw, expected):
    assert draw().tolist() == expected


def test_like_draws_in_the_order_of_memory():
    flat = torch.rand(2, 3)
    torch.manual_seed(0)
    assert torch.rand_like(torch.ones(2, 3).t()).tolist() == flat.t().tolist()


def filled(shape, view, how, *args):
    """Fills a view of a tensor of zeros by the method ``how``, and returns the tensor's elements in the order of memory."""
    x = torch.zeros(shape)
    getattr(view(x), how)(*args)
    return [pytest.approx(number, abs=1e-4) for number in x.flatten().tolist()]


def test_views_are_filled_in_the_order_of_memory():
    """Expected values were printed by PyTorch 2.13 after manual_seed(0)."""
    assert filled((2, 3), lambda x: x.t(), "uniform_") == [0.4963, 0.7682, 0.0885, 0.1320, 0.3074, 0.6341]
    torch.manual_seed(0)
    assert filled((2, 3), lambda x: x.t(), "bernoulli_", torch.tensor([0.9, 0.1])) == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    torch.manual_seed(0)
    turned = filled((3, 2, 4), lambda x: x.permute(2, 0, 1), "exponential_")
    torch.manual_seed(0)
    assert torch.zeros(24).exponential_().tolist() == turned


def test_normal_numbers_for_memory_with_gaps_are_drawn_two_by_two():
    expected = [1.5410, -0.2934, -2.1788, 0.5684, -1.0845, -1.3986, 0, 0]
    assert expected == filled((3, 8), lambda x: x[:, :6], "normal_")[:8]
    torch.manual_seed(0)
    z = torch.zeros(2, 2, dtype=torch.complex64)
    z.t().normal_()
    expected = [[1.0896, -0.2075], [-1.5406, 0.4019], [-0.7669, -0.9890], [0.2852, 0.5926]]
    assert torch.view_as_real(z).view(4, 2).tolist() == [pytest.approx(pair, abs=1e-4) for pair in expected]


def test_weights_in_another_order_of_memory():
    assert torch.multinomial(torch.rand(3, 2).t(), 2).tolist() == [[2, 0], [0, 2]]
    torch.manual_seed(0)
    x = torch.zeros(2, 3)
    torch.nn.init.trunc_normal_(x.t())
    assert x.flatten().tolist() == pytest.approx([1.5410, -0.2934, -0.7193, 0.5684, -1.0845, -1.3986], abs=1e-4)


def test_a_generator_of_its_own_leaves_the_default_one_alone():
    before = torch.get_rng_state()
    g = torch.Generator().manual_seed(0)
    assert torch.rand(2, generator=g).tolist() == pytest.approx([0.4963, 0.7682], abs=1e-4)
    assert torch.get_rng_state().tolist() == before.tolist()
    assert g.initial_seed() == 0


def test_states_come_back():
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8
    assert state.shape == (5056,)
    first = torch.rand(5).tolist()
    torch.set_rng_state(state)
    assert torch.rand(5).tolist() == first
    assert torch.default_generator.get_state().tolist() == torch.get_rng_state().tolist()


def test_a_copy_of_a_generator_goes_on_by_itself():
    g = torch.Generator().manual_seed(3)
    torch.rand(2, generator=g)
    copy = g.clone_state()
    assert type(copy) is torch.Generator
    expected = torch.rand(2, generator=g).tolist()
    assert torch.rand(2, generator=copy).tolist() == expected
    assert torch.default_generator.clone_state().get_state().tolist() == torch.get_rng_state().tolist()


def test_fork_puts_the_generator_back():
    expected = torch.rand(2).tolist()
    torch.manual_seed(0)
    with torch.random.fork_rng():
        torch.rand(100)
    assert torch.rand(2).tolist() == expected


THREE: Any = 3
WRONG = [
    (
        lambda: torch.rand(2, dtype=torch.int64),
        NotImplementedError,
        "\"check_uniform_bounds\" not implemented for 'Long'",
    ),
    (
        lambda: torch.randn(2, dtype=torch.int64),
        NotImplementedError,
        "\"normal_kernel_cpu\" not implemented for 'Long'",
    ),
    (
        lambda: torch.randint(0, (4,)),
        RuntimeError,
        "random_ expects 'from' to be less than 'to', but got from=0 >= to=0",
    ),
    (lambda: torch.normal(torch.zeros(3), -1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda: torch.set_rng_state(THREE), TypeError, "expected a torch.ByteTensor, but got int"),
    (lambda: torch.rand(2, generator=3), TypeError, "expected a torch.Generator, but got int"),
    (lambda: F.dropout(torch.ones(2), 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_refuses(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_drawing_into_a_leaf_that_wants_a_gradient_is_refused():
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."
    ):
        torch.ones(2, requires_grad=True).normal_()


def test_what_was_overwritten_by_draws_gets_no_gradient():
    x: Any = torch.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    assert y.grad_fn.name() == "UniformBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_in_place_draws_write_through_views():
    x = torch.zeros(2, 2)
    x[0].uniform_(1, 2)
    assert (x[0] >= 1).all()
    assert x[1].tolist() == [0, 0]


def test_dropout_keeps_the_stream_and_scales():
    out = F.dropout(torch.ones(1000), 0.25)
    kept = out[out != 0]
    assert set(kept.tolist()) == {torch.tensor(1 / 0.75).item()}
    torch.manual_seed(0)
    noise = torch.empty(1000).bernoulli_(0.75)
    assert ((out != 0) == noise.bool()).all()


def test_dropout_without_effect_gives_the_tensor_itself():
    x: Any = torch.ones(3, requires_grad=True)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.0) is x
    out: Any = F.dropout(x)
    assert out.grad_fn.name() == "MulBackward0"


def test_channel_dropout_drops_channels():
    out = F.dropout2d(torch.ones(4, 8, 2, 2))
    flat = out.reshape(32, 4)
    assert (flat == flat[:, :1]).all()


def test_a_dropout_loop_draws_anew_and_compiles_once():
    x = torch.ones(4, 100)
    seen = set()
    for step in range(6):
        if step == 4:
            torch.explain(reset=True)
        seen.add(F.dropout(x).sum().item())
    assert len(seen) > 1
    assert torch.explain().op_compiles == torch.explain().compiles == 0


def test_dropout_of_a_number_of_float64():
    for dropout in (torch.dropout, torch.alpha_dropout):
        found = dropout(torch.tensor(2.0, dtype=torch.float64), 0.5, True)
        assert found.dtype is torch.float64 and abs(found.item()) < 5


def test_a_draw_into_an_inference_tensor_is_refused_after_it_was_drawn():
    torch.manual_seed(0)
    expected = torch.rand(6)[3:]
    with torch.inference_mode():
        t = torch.zeros(3)
    torch.manual_seed(0)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        t.uniform_()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("out", ["mean", "std"])
def test_normal_multiplies_and_adds_what_has_been_drawn_into_out(out):
    mean, std = torch.full((3,), 5.0), torch.full((3,), 2.0)
    torch.manual_seed(0)
    drawn = torch.normal(torch.zeros(3), torch.ones(3))
    torch.manual_seed(0)
    given = mean if out == "mean" else std
    result = torch.normal(mean, std, out=given)
    expected = drawn * 2.0 + drawn * 2.0 if out == "mean" else drawn * drawn + 5.0
    assert result is given
    assert torch.equal(given, expected)


# PyTorch's numbers for the seed 0: tensors without dimensions are numbers beside a size.
NORMAL_OF_SIZE = {
    "tensors": (lambda: torch.normal(torch.tensor(1.0), torch.tensor(2.0), (3,)), [4.081992, 0.4131422, -3.3575788]),
    "by name": (
        lambda: torch.normal(mean=torch.tensor(1.0), std=torch.tensor(2.0), size=(3,)),
        [4.081992, 0.4131422, -3.3575788],
    ),
    "a number": (lambda: torch.normal(1.0, torch.tensor(2), [3]), [4.081992, 0.4131422, -3.3575788]),
    "a dtype": (
        lambda: torch.normal(torch.tensor(1.0), 2.0, (3,), dtype=torch.float64),
        [4.081992216488087, 0.41314218847810724, -3.357578764149115],
    ),
    "out": (
        lambda: torch.normal(torch.tensor(1.0), torch.tensor(2.0), (3,), out=torch.empty(3)),
        [4.081992, 0.4131422, -3.3575788],
    ),
}


@pytest.mark.parametrize(("call", "numbers"), NORMAL_OF_SIZE.values(), ids=NORMAL_OF_SIZE)
def test_normal_of_tensors_has_the_size_it_is_given(call, numbers):
    torch.manual_seed(0)
    result = call()
    assert result.dtype == (torch.float64 if len(str(numbers[0])) > 12 else torch.float32)
    torch.testing.assert_close(result, torch.tensor(numbers, dtype=result.dtype))


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((torch.ones(2), torch.ones(2), (2,)), {}),
        ((torch.ones(1), torch.ones(1)), {"size": (1,)}),
        ((torch.tensor(1.0, requires_grad=True), torch.tensor(2.0), (3,)), {}),
        ((torch.ones(2), torch.ones(2)), {"dtype": torch.float64}),
        ((torch.ones(2), 2.0), {"requires_grad": True}),
        ((torch.ones(2), None, (2,)), {}),
        ((torch.tensor(1.0), torch.tensor(2.0), 3), {}),
    ],
)
def test_normal_ignores_no_argument(args, kwargs):
    with pytest.raises(TypeError, match=r"^normal\(\) received an invalid combination of arguments - got \("):
        torch.normal(*args, **kwargs)
