"""``__torch_function__``: its calls, and the types of results with subclasses, agree with what PyTorch recorded."""

import inspect
import subprocess
import sys

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
