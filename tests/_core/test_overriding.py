"""``__torch_function__``: its calls, and the types of results with subclasses, agree with what PyTorch recorded."""

import inspect
import subprocess
import sys
from typing import Any

import pytest

import torchlike as torch
from tests._core import overriding
from torchlike import overrides

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def found():
    return overriding.everything(torch)


@pytest.mark.parametrize("name", overriding.PROGRAMS)
def test_a_program_with_subclasses_says_what_it_says_under_pytorch(found, golden, name):
    assert found["programs"][name] == golden("overrides")["programs"][name]


def test_each_call_asks_about_the_functions_that_pytorch_asks_about(found, golden):
    expected = golden("overrides")["calls"]
    assert {call: got for call, got in found["calls"].items() if got != expected[call]} == {}


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_asks_before_something_overrides():
    program = """
import torchlike as torch
from torchlike._core import overridable
add, code = torch.add, torch.add.__code__
class Sub(torch.Tensor):
    pass
class Wrapper:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func is add
torch.nn.functional.relu(torch.ones(2)) + 1
print(overridable.is_active(), add.__code__ is code, add(1, Wrapper()), overridable.is_active(), torch.add is add, add.__code__ is code)
"""
    assert run(program) == "False True True True True False"


def test_nothing_asks_because_fx_is_imported_before_something_is_traced():
    program = """
import torchlike as torch, torchlike.fx
from torchlike._core import overridable
before = overridable.is_active()
graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
print(before, overridable.is_active(), [node.name for node in graph.nodes])
"""
    assert run(program) == "False True ['x', 'relu', 'add', 'output']"


def test_an_operator_is_the_first_to_meet_an_object_that_overrides():
    program = """
import torchlike as torch
class Wrapper:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
print(torch.ones(2) - Wrapper(), torch.ones(2, 2) @ Wrapper(), torch.chunk(Wrapper(), 2))
"""
    assert run(program) == "sub matmul chunk"


def test_the_signature_of_a_function_stays_what_it_was():
    assert overrides.resolve_name(torch.add) == "torch.add"  # from here on functions look for __torch_function__
    assert list(inspect.signature(torch.split).parameters) == ["tensor", "split_size_or_sections", "dim"]
    assert str(inspect.signature(torch.nn.functional.relu)) == "(input: 'Tensor', inplace: 'bool' = False) -> 'Tensor'"
    assert torch.add.__name__ == "add"


def test_who_looks_at_the_frames_of_an_error_finds_the_variables_of_an_overridable_function():
    import torchlike.overrides as overrides

    assert overrides.has_torch_function(()) is False  # from here on functions look for __torch_function__
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) + torch.ones(3)
    trace = caught.value.__traceback__
    while trace is not None:
        assert isinstance(trace.tb_frame.f_locals, dict)
        trace = trace.tb_next


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("torch.norm_except_dim(x)", "norm_except_dim"),  # which ``torch`` gets when it is first asked for
        ("x + 1, torch.nn.functional.has_torch_function((x,))", "add True"),  # which asks, and is not asked about
    ],
)
def test_a_name_that_a_module_gets_late_is_treated_as_one_that_it_has(expression, printed):
    code = f"""
import torchlike as torch
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
x = torch.ones(2).as_subclass(Asked)
print({expression})
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == printed + "\n"
    )


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_every_function_of_torch_can_be_found_and_stood_in_for():
    code = """
import torchlike
torchlike.alias()
import torch
names = "kl_div margin_ranking_loss is_signed nuclear_norm get_device add".split()
of_torch, stand_ins = torch.overrides.get_overridable_functions()[torch], torch.overrides.get_testing_overrides()
print(all(getattr(torch, name) in of_torch and getattr(torch, name) in stand_ins for name in names), torch.kl_div.__module__)
"""
    assert in_a_new_process(code) == ["True", "torch"]


def test_gradients_are_asked_of_objects_and_modes():
    class Asked:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, len(args), (kwargs or {})["create_graph"]

    assert torch.autograd.grad(Asked(), [Asked()], create_graph=True) == (torch.autograd.grad, (Asked,), 2, True)

    class Notes(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    seen, x = [], torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with Notes():
        (gradient,) = torch.autograd.grad(y, x)
    assert seen == [torch.autograd.grad] and gradient.tolist() == [2.0, 2.0]


def test_overriding_can_be_on_within_where_it_is_off():
    class Own(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Own)
    with torch._C.DisableTorchFunctionSubclass():
        assert type(torch.sum(x)) is torch.Tensor
        with overrides._enable_torch_function():
            assert type(torch.sum(x)) is Own


def test_distributions_broadcast_objects_as_these_say():
    class Holds:
        def __init__(self, tensor):
            self.tensor = tensor

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*[each.tensor if isinstance(each, Holds) else each for each in args])

    held: list[Any] = [Holds(torch.ones(2)), Holds(torch.ones(1))]
    first, second = torch.distributions.utils.broadcast_all(*held)
    assert first.shape == second.shape == (2,)
