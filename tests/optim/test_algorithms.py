"""Every optimizer has PyTorch's parameters and state after twenty steps, its text and its saved state, and compiles only once."""

import pickle

import numpy as np
import pytest

import torchlike as torch
from tests.optim.algorithms import ALGORITHMS, DTYPES, FUSED, OTHER_DTYPES, bowl, make, run, run_in_other_dtype, train

pytestmark = pytest.mark.composed

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)
# In twenty steps an error in the last bit of float32 grows to a few bits; in float64 only such errors may occur.
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
# PyTorch orthogonalises Muon's matrix in bfloat16, where a sum in another order, as on another processor, may be rounded differently.
LOW_PRECISION, ON_ONE_MACHINE = 1e-4, 1e-6


@pytest.mark.costly
@every_algorithm
@pytest.mark.parametrize("dtype", DTYPES)
def test_twenty_steps_are_pytorchs(golden, pytestconfig, name: str, dtype: str):
    start = f"{name}/{dtype}/"
    expected = {k.removeprefix(start): v for k, v in golden("optim").items() if k.startswith(start)}
    found = run(torch, name, dtype, lambda t: t.numpy().copy())
    assert list(found) == list(expected)
    tolerance = TOLERANCE[dtype]
    if name.startswith("Muon"):
        same_machine = dtype == "float64" and pytestconfig.getoption("golden") is not None
        tolerance = ON_ONE_MACHINE if same_machine else LOW_PRECISION
    for key, array in found.items():
        assert array.dtype == expected[key].dtype, key
        np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", [*ALGORITHMS, *FUSED])
@pytest.mark.parametrize("change", OTHER_DTYPES)
def test_state_keeps_its_dtype_when_the_parameter_gets_another(golden, name: str, change: str):
    expected = golden("optim_words")["other_dtypes"][f"{name}/{change}"]
    found = run_in_other_dtype(torch, name, change)
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    assert {key: dtype for key, (dtype, _) in found.items()} == {key: dtype for key, (dtype, _) in expected.items()}
    tolerance = {"double": 1e-6, "half": 4e-3}[change]  # the state in float32 is rounded too
    for key, (_, numbers) in found.items():
        np.testing.assert_allclose(numbers, expected[key][1], rtol=tolerance, atol=tolerance, err_msg=key)


@every_algorithm
def test_the_text_is_pytorchs(golden, name: str):
    assert repr(make(torch, name, [torch.ones(1, 1)])) == golden("optim_words")["repr"][name]


@every_algorithm
def test_a_loaded_state_goes_on_as_the_one_it_came_from(name: str):
    params, loss = bowl(torch)
    optimizer = make(torch, name, params)
    train(optimizer, loss, 3)
    state, there = pickle.loads(pickle.dumps(optimizer.state_dict())), [p.detach().clone() for p in params]
    train(optimizer, loss, 3)
    expected = [p.detach().numpy().copy() for p in params]
    with torch.no_grad():
        for param, before in zip(params, there, strict=True):
            param.copy_(before)
    loaded = make(torch, name, params)
    loaded.load_state_dict(state)
    train(loaded, loss, 3)
    for param, array in zip(params, expected, strict=True):
        np.testing.assert_allclose(param.detach().numpy(), array, rtol=1e-6, atol=1e-7)


@every_algorithm
def test_numbers_may_change_every_step_without_a_compilation(name: str):
    params, loss = bowl(torch)
    optimizer = make(torch, name, params)
    train(optimizer, loss, 3)
    torch.explain(reset=True)
    for step in range(4):
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
            for name in (
                "weight_decay",
                "momentum",
                "eps",
                "rho",
                "alpha",
                "lr_decay",
                "momentum_decay",
                "lambd",
                "t0",
            ):
                if isinstance(group.get(name), float):
                    group[name] *= 0.9
            if "step_sizes" in group:
                group["etas"], group["step_sizes"] = (0.3, 1.1 + step / 10), (1e-5, 10.0 + step)
            if "betas" in group:
                group["betas"] = (0.5 + step / 10, 0.9)
        train(optimizer, loss, 1)
    report = torch.explain()
    assert report.compiles == report.op_compiles == 0


@every_algorithm
def test_groups_have_numbers_of_their_own(name: str):
    params, loss = bowl(torch)
    first = {"params": params[:1], "lr": 0.0, "step_sizes": (0.0, 1.0)}  # Rprop's rate is at least the first step size
    optimizer = make(torch, name, [first, {"params": params[1:]}])
    before = [p.detach().clone() for p in params]
    train(optimizer, loss, 2)
    moved = [not torch.equal(p, b) for p, b in zip(params, before, strict=True)]
    assert moved == [False, True]


@every_algorithm
def test_a_parameter_without_gradient_stays_and_has_no_state(name: str):
    params, loss = bowl(torch)
    extra = torch.ones(1, 2, requires_grad=True)
    optimizer = make(torch, name, [*params, extra])
    train(optimizer, loss, 2)
    assert extra.tolist() == [[1.0, 1.0]]
    assert (extra in optimizer.state) == (type(optimizer).__name__ == "Adagrad")  # which makes the state at once
    extra.grad = torch.ones(1, 2)
    optimizer.step()
    assert extra.tolist() != [[1.0, 1.0]]
    if "step" in optimizer.state[extra]:
        assert [optimizer.state[p]["step"].item() for p in (params[0], extra)] == [2.0, 1.0]


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if not n.startswith(("Adafactor", "Muon"))])
def test_a_complex_parameter_is_stepped_as_its_two_parts_are(name: str):
    whole = torch.tensor([1 + 2j, -1 + 0.5j], requires_grad=True)
    parts = torch.view_as_real(whole.detach()).clone().requires_grad_()
    optimizers = make(torch, name, [whole]), make(torch, name, [parts])
    for _ in range(3):
        for param in (whole, parts):
            param.grad = None
        (whole.abs() ** 2).sum().backward()
        (parts**2).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(torch.view_as_real(whole.detach()).numpy(), parts.detach().numpy(), rtol=1e-5)


@every_algorithm
def test_a_step_writes_into_the_memory_and_counts_as_a_write(name: str):
    memory = torch.zeros(4, 1)
    param = memory[1:3].requires_grad_()
    version = param._version
    param.grad = torch.ones(2, 1)
    make(torch, name, [param]).step()
    assert memory.tolist()[::3] == [[0.0], [0.0]]
    assert memory[1:3].tolist() == param.tolist() != [[0.0], [0.0]]
    assert param._version > version
