"""Random numbers of an accelerator: drawn there, from a seed and an offset that are known here."""

import jax
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.utils.checkpoint import checkpoint

pytestmark = pytest.mark.recorded

MANY = 200_000
# Name, how numbers are drawn, and the mean and standard deviation that they must have.
LAWS = {
    "rand": (lambda d: torch.rand(MANY, device=d), 0.5, 0.2887),
    "rand in float64": (lambda d: torch.rand(MANY, device=d, dtype=torch.float64), 0.5, 0.2887),
    "rand in bfloat16": (lambda d: torch.rand(MANY, device=d, dtype=torch.bfloat16).float(), 0.5, 0.2887),
    "randn": (lambda d: torch.randn(MANY, device=d), 0.0, 1.0),
    "randn in float64": (lambda d: torch.randn(MANY, device=d, dtype=torch.float64), 0.0, 1.0),
    "randn in float16": (lambda d: torch.randn(MANY, device=d, dtype=torch.float16).float(), 0.0, 1.0),
    "randn in complex64": (
        lambda d: torch.view_as_real(torch.randn(MANY, device=d, dtype=torch.complex64)),
        0.0,
        0.7071,
    ),
    "normal of numbers": (lambda d: torch.normal(3.0, 2.0, (MANY,), device=d), 3.0, 2.0),
    "normal of tensors": (lambda d: torch.normal(torch.full((MANY,), 3.0, device=d), 2.0), 3.0, 2.0),
    "randint": (lambda d: torch.randint(-5, 5, (MANY,), device=d).float(), -0.5, 2.8723),
    "wide randint": (lambda d: torch.randint(0, 2**40, (MANY,), device=d).double() / 2**40, 0.5, 0.2887),
    "rand_like": (lambda d: torch.rand_like(torch.ones(MANY, device=d)), 0.5, 0.2887),
    "uniform_": (lambda d: torch.empty(MANY, device=d).uniform_(-1, 3), 1.0, 1.1547),
    "normal_": (lambda d: torch.empty(MANY, device=d).normal_(1, 3), 1.0, 3.0),
    "log_normal_": (lambda d: torch.empty(MANY, device=d).log_normal_(0, 0.5).log(), 0.0, 0.5),
    "exponential_": (lambda d: torch.empty(MANY, device=d).exponential_(2.0), 0.5, 0.5),
    "cauchy_": (lambda d: torch.empty(MANY, device=d).cauchy_().atan(), 0.0, 0.9069),
    "geometric_": (lambda d: torch.empty(MANY, device=d).geometric_(0.25), 4.0, 3.4641),
    "random_": (lambda d: torch.empty(MANY, device=d).random_(0, 2), 0.5, 0.5),
    "bernoulli_": (lambda d: torch.empty(MANY, device=d).bernoulli_(0.2), 0.2, 0.4),
    "bernoulli_ of a tensor": (
        lambda d: torch.empty(MANY, device=d).bernoulli_(torch.full((MANY,), 0.2, device=d)),
        0.2,
        0.4,
    ),
    "bernoulli": (lambda d: torch.bernoulli(torch.full((MANY,), 0.2, device=d)), 0.2, 0.4),
    "poisson": (lambda d: torch.poisson(torch.full((2000,), 4.0, device=d)), 4.0, 2.0),
    "multinomial": (lambda d: torch.multinomial(torch.tensor([1.0, 3.0], device=d), 5000, True).float(), 0.75, 0.4330),
    "dropout": (lambda d: nn.functional.dropout(torch.ones(MANY, device=d), 0.2), 1.0, 0.5),
    "dropout in bfloat16": (
        lambda d: nn.functional.dropout(torch.ones(MANY, device=d).bfloat16(), 0.2).float(),
        1.0,
        0.5,
    ),
    "alpha dropout": (lambda d: nn.functional.alpha_dropout(torch.randn(MANY, device=d), 0.3, True), 0.0, 1.0),
    "channels": (lambda d: nn.functional.dropout2d(torch.ones(400, 500, 1, 1, device=d), 0.2), 1.0, 0.5),
}


@pytest.mark.costly
@pytest.mark.parametrize("law", LAWS)
def test_numbers_have_the_moments_of_their_law_and_follow_the_seed(law: str, device: str):
    draw, mean, deviation = LAWS[law]
    torch.manual_seed(1)
    numbers, others = draw(device), draw(device)
    assert numbers.device.type == device and not torch.equal(numbers, others)
    tolerance = 5 * deviation / numbers.numel() ** 0.5 + 2e-3 * abs(mean)
    assert abs(numbers.double().mean().item() - mean) < tolerance
    assert abs(numbers.double().std().item() - deviation) < 4 * tolerance
    torch.manual_seed(1)
    assert torch.equal(draw(device), numbers)


def test_permutations(device: str):
    found = torch.randperm(1000, device=device)
    assert found.sort().values.tolist() == list(range(1000)) and found.tolist() != list(range(1000))


def test_a_generator_has_a_seed_and_an_offset(device: str):
    generator = torch.Generator(device).manual_seed(7)
    assert isinstance(generator, torch.Generator) and generator.device.type == device
    assert (generator.initial_seed(), generator.get_offset()) == (7, 0)
    first = torch.rand(3, device=device, generator=generator)
    state = generator.get_state()
    assert generator.get_offset() == 4 and state.numel() == 16
    second = torch.rand(3, device=device, generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.rand(3, device=device, generator=generator), second)
    generator.set_offset(0)
    assert torch.equal(torch.rand(3, device=device, generator=generator), first)
    with pytest.raises(RuntimeError, match=r"^offset must be a multiple of 4$"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match=r"^RNG state is wrong size$"):
        generator.set_state(torch.zeros(3, dtype=torch.uint8))
    assert torch.equal(torch.rand(3, device=device, generator=generator.clone_state()), second)


def test_a_generator_of_another_device_is_refused(device: str):
    with pytest.raises(RuntimeError, match=f"^Expected a '{device}' device type for generator but found 'cpu'$"):
        torch.rand(2, device=device, generator=torch.Generator())
    with pytest.raises(RuntimeError, match=f"^Expected a 'cpu' device type for generator but found '{device}'$"):
        torch.rand(2, generator=torch.Generator(device))


def test_seeds_and_states_of_one_device_leave_the_other_alone(device: str):
    if device != "cuda":
        pytest.skip("torch.cuda has functions for it")
    torch.manual_seed(3)
    here, there = torch.rand(2), torch.rand(2, device=device)
    torch.cuda.manual_seed(3)
    assert torch.equal(torch.rand(2, device=device), there)
    torch.manual_seed(3)
    torch.cuda.manual_seed(4)
    assert torch.equal(torch.rand(2), here) and torch.cuda.initial_seed() == 4
    state = torch.cuda.get_rng_state()
    following = torch.rand(2, device=device)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(2, device=device), following)
    with torch.random.fork_rng():
        inside = torch.rand(2, device=device)
    assert torch.equal(torch.rand(2, device=device), inside)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_recomputation_drops_the_same_elements(reentrant: bool, device: str):
    x = torch.ones(1000, device=device, requires_grad=True)
    y = checkpoint(lambda t: nn.functional.dropout(t * 1.0, 0.5) * t, x, use_reentrant=reentrant)
    y.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, 2 * y.detach()) and 0 < y.count_nonzero().item() < 1000


def test_the_gradient_of_dropout_drops_the_same_elements(device: str):
    x = torch.ones(50, 50, device=device, requires_grad=True)
    y = nn.functional.dropout(x, 0.4)
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert grad is not None and torch.equal(grad, y.detach()) and y.grad_fn.name() == "NativeDropoutBackward0"


def test_the_cpus_streams_may_be_chosen(device: str):
    torch.manual_seed(0)
    here = torch.rand(4), torch.randn(20), nn.functional.dropout(torch.ones(9), 0.5)
    torch.use_cpu_random_streams(True)
    try:
        torch.manual_seed(0)
        there = torch.rand(4, device=device), torch.randn(20, device=device)
        dropped = nn.functional.dropout(torch.ones(9, device=device), 0.5)
    finally:
        torch.use_cpu_random_streams(False)
    for a, b in zip(here, (*there, dropped), strict=True):
        assert torch.equal(a, b.cpu())


def test_a_step_with_dropout_sends_nothing_to_the_device(device: str):
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    X = torch.randn(16, 8, device=device)

    def steps(count: int) -> None:
        for _ in range(count):
            loss = model(X + 0.1 * torch.randn(16, 8, device=device)).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        loss.item()

    steps(5)
    with jax.transfer_guard_host_to_device("disallow_explicit"):
        steps(3)
        torch.use_cpu_random_streams(True)
        try:  # the guard would see it
            with pytest.raises(Exception, match="Disallowed host-to-device transfer"):
                steps(1)
        finally:
            torch.use_cpu_random_streams(False)
