"""All samples of all operators: every form gives the same result, values and gradients are PyTorch's, dtypes are checked."""

import builtins
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from tests.conftest import GOLDEN
from tests.golden.packed import unpack
from tests.ops.memory import ABOUT_LAYOUT, OWN, SHARED, WITHIN, Laid
from tests.ops.samples import CATEGORY_OF, Call, arguments, cotangent, dtypes_of, every_call, other_calls
from torchlike.autograd.gradcheck import gradcheck, gradgradcheck
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.dispatch.opdef import CATALOG, Category, Form
from torchlike.engine.jax_settings import tracing
from torchlike.engine.recorder import forget
from torchlike.engine.report import report

pytestmark = pytest.mark.single

CALLS = list(every_call())
ARRAYS, WORDS = unpack(GOLDEN / "ops.npz")
# The results of two correct libraries differ in the last bits of float32. One tolerance serves exact operators too,
# since a wrong formula differs by more.
# Half types: PyTorch rounds the tensors that it saves for backward and torchlike does not, so they may differ by one step at 1.
TOLERANCE = {"float32": (2e-5, 1e-5), "complex64": (2e-5, 1e-5), "float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-3)}


def ids(calls: list[Call]) -> list[str]:
    return [c.key for c in calls]


def is_random(call: Call) -> bool:
    return call.op.compute.__module__.endswith(("random", "dropout"))


def make(
    call: Call, grad: bool = False, dtype: str | None = None, memory: Laid | None = None
) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Returns the call's arguments with tensors in them, and the tensors with respect to which it is differentiated."""
    lay = (memory or Laid(OWN)).lay
    given, kwargs, roles = arguments(call)
    own = getattr(torch, dtype or call.dtype)
    made: list[Any] = []
    inputs: list[Any] = []

    def tensor(array: np.ndarray) -> Any:
        t = lay(torch.tensor(array).to(own))
        inputs.append(t.requires_grad_() if grad else t)
        return t

    for value, role in zip(given, roles, strict=True):
        if role == "l":
            made.append([tensor(v) for v in value])
        elif role == "j":
            made.append([lay(torch.tensor(v)) for v in value])
        else:
            made.append(tensor(value) if role == "t" else lay(torch.tensor(value)) if role == "i" else value)
    return made, kwargs, inputs


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def numpy(t: Any) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg()
    return (t.float() if t.dtype is torch.bfloat16 else t).numpy()


def assert_near(got: Any, expected: np.ndarray, dtype: str) -> None:
    rtol, atol = TOLERANCE.get(dtype, (1e-7, 1e-7))
    np.testing.assert_allclose(numpy(got), expected, rtol=rtol, atol=atol, equal_nan=True)


def assert_same(got: Any, expected: Any) -> None:
    for g, e in zip(outputs(got), outputs(expected), strict=True):
        assert g.dtype is e.dtype
        np.testing.assert_array_equal(numpy(g), numpy(e))


@pytest.fixture
def memory(request: pytest.FixtureRequest, call: Call) -> Laid:
    """Memory for the tensors of a call. Only the first kind compiles programs; the other kinds run the same kernels."""
    if request.param == WITHIN and call.op.name in ABOUT_LAYOUT:
        pytest.skip("gives something else there, as it should")
    if request.param != OWN:
        forget()  # otherwise ops recorded a second time would be compiled as one program
    return Laid(request.param)


# The three kinds of memory of one call are neighbours, so that one worker process gets all three and compiles once.
anywhere = pytest.mark.parametrize("memory", [OWN, SHARED, WITHIN], indirect=True)


# ---- compared with PyTorch

RECORDED = [c for c in CALLS if c.key in WORDS]


def test_every_public_op_has_a_sample_and_most_are_recorded():
    public = {op.name for op in CATALOG.values() if op.samples and not op.name.startswith("_")}
    recorded = {key.split("/")[0] for key in WORDS}
    assert len(public & recorded) > 0.9 * len(public), sorted(public - recorded)


@pytest.fixture
def without_compiler(engine_mode: str) -> Iterator[None]:
    """Without a compiler NumPy computes each operator and its gradient: a process that was forked has nothing else."""
    report.not_interpreted.clear()
    yield
    assert engine_mode != "interpreted" or not report.not_interpreted


@anywhere
@pytest.mark.usefixtures("without_compiler")
@pytest.mark.parametrize("call", RECORDED, ids=ids(RECORDED))
def test_values_and_gradients_are_those_of_pytorch(call, memory):
    said = WORDS[call.key]
    made, kwargs, inputs = make(call, grad="grads" in said, memory=memory)
    torch.manual_seed(0)
    outs = outputs(FUNCTIONS[call.op.name](*made, **kwargs))
    assert [str(o.dtype).removeprefix("torch.") for o in outs] == said["dtypes"]
    for i, out in enumerate(outs):
        assert_near(out, ARRAYS[f"{call.key}/out{i}"], said["dtypes"][i])
    if "grads" not in said:
        return
    which = [i for i, o in enumerate(outs) if o.requires_grad]
    assert outs[which[0]].grad_fn.name() == said["grad_fn"]
    seeds = [torch.tensor(cotangent(call, i, outs[i].shape, said["dtypes"][i])).to(outs[i].dtype) for i in which]
    grads = torch.autograd.grad([outs[i] for i in which], inputs, seeds, allow_unused=True)
    for i, (grad, expected) in enumerate(zip(grads, said["grads"], strict=True)):
        if expected:
            assert_near(grad, ARRAYS[f"{call.key}/grad{i}"], call.dtype)
        else:
            assert grad is None or not numpy(grad).any()


# ---- the forms compared with each other

STANDARD_CALLS = [
    c for c in CALLS
    if c.number == 0 and c.op.forms and not is_random(c) and c.key not in WORDS["refused"]
]  # fmt: skip


@pytest.mark.uncompiled
@anywhere
@pytest.mark.parametrize("call", STANDARD_CALLS, ids=ids(STANDARD_CALLS))
def test_every_form_gives_the_same(call, memory):
    op = call.op
    made, kwargs, _ = make(call, memory=memory)
    function = FUNCTIONS[op.name]
    expected = function(*made, **kwargs)
    for name in (op.name, *op.aliases):
        if Form.FUNCTION in op.forms:
            assert_same(getattr(torch, name)(*made, **kwargs), expected)
        if Form.METHOD in op.forms:
            assert_same(getattr(made[0], name)(*made[1:], **kwargs), expected)
    fits = isinstance(expected, torch.Tensor) and expected.shape == made[0].shape
    if Form.INPLACE in op.forms and fits and expected.dtype is made[0].dtype:
        target = memory.lay(made[0].clone())
        assert getattr(target, op.name + "_")(*made[1:], **kwargs) is target
        assert_same(target, expected)
    if Form.INPLACE_FUNCTION in op.forms and fits and expected.dtype is made[0].dtype:
        target = memory.lay(made[0].clone())
        assert getattr(torch, op.name + "_")(target, *made[1:], **kwargs) is target
        assert_same(target, expected)
    if Form.FUNCTIONAL in op.forms:
        assert_same(getattr(F, op.name)(*made, **kwargs), expected)
    if Form.INPLACE_ARGUMENT in op.forms:
        assert_same(getattr(F, op.name)(*made, **kwargs), expected)
        target = memory.lay(made[0].clone())
        assert getattr(F, op.name)(target, *made[1:], **kwargs, inplace=True) is target
        assert_same(target, expected)
    if Form.INPLACE_FUNCTIONAL in op.forms:
        target = memory.lay(made[0].clone())
        assert getattr(F, f"{op.name}_")(target, *made[1:], **kwargs) is target
        assert_same(target, expected)
    if Form.OUT in op.forms and isinstance(expected, torch.Tensor):
        out = memory.lay(torch.empty_like(expected))
        assert function(*made, **kwargs, out=out) is out
        assert_same(out, expected)
    memory.check()


UNRECORDED = [
    c for c in CALLS
    if c.key not in WORDS and c.key not in WORDS["refused"] and (c.sample.shapes or c.sample.values) and not is_random(c)
    and c.dtype == dtypes_of(c.op, c.number)[0]
]  # fmt: skip


@pytest.mark.uncompiled
@pytest.mark.parametrize("call", UNRECORDED, ids=ids(UNRECORDED))
def test_other_ops_give_the_same_wherever_their_inputs_lie(call):
    function = FUNCTIONS[call.op.name]
    made, kwargs, _ = make(call)
    expected = function(*made, **kwargs)
    for where in (SHARED, WITHIN):
        if where == SHARED or call.op.name not in ABOUT_LAYOUT:
            forget()
            made, kwargs, _ = make(call, memory=Laid(where))
            assert_same(function(*made, **kwargs), expected)


REFUSED = [c for c in [*CALLS, *other_calls()] if c.key in WORDS["refused"]]


@pytest.mark.parametrize("call", REFUSED, ids=ids(REFUSED))
def test_dtypes_that_pytorch_refuses_are_refused_in_its_words(call):
    kind, message = WORDS["refused"][call.key]
    with pytest.raises(getattr(builtins, kind)) as caught:
        made, kwargs, _ = make(call)
        FUNCTIONS[call.op.name](*made, **kwargs)
    assert str(caught.value) == message


UNDECLARED = [c for c in other_calls() if c.key in WORDS]


@pytest.mark.parametrize("call", UNDECLARED, ids=ids(UNDECLARED))
def test_dtypes_that_pytorch_takes_are_declared(call):
    raise AssertionError(f"{call.op.name} does not accept {call.dtype}, and PyTorch does")


# ---- derivatives

SMOOTH = [
    c for c in CALLS
    if (c.number == 0 or c.key not in WORDS) and c.op.has_derivative and c.sample.gradient and not is_random(c)
    and Category.FLOAT in c.op.dtype_rule.accepts
    and c.dtype == ("float32" if c.sample.dtypes is None or "float32" in c.sample.dtypes else c.dtype)
    and CATEGORY_OF[c.dtype] == "float" and (c.sample.shapes or c.sample.values)
]  # fmt: skip
NAMELESS = [c for c in SMOOTH if c.key not in WORDS]  # otherwise the first derivative is compared with PyTorch's
FIRST_SMOOTH = [c for c in SMOOTH if c.number == 0]


def in_float64(call: Call) -> tuple[Any, list[Any]]:
    """Returns the call as a function of its differentiable inputs, and these inputs in float64."""
    made, kwargs, inputs = make(call, dtype="float64")
    # The conversion to float64 is exact. Equal elements are then moved apart, because at ties finite differences fail.
    spread = [torch.tensor(numpy(t) + 1e-3 * np.arange(t.numel()).reshape(t.shape)).requires_grad_() for t in inputs]

    def function(*tensors: Any) -> Any:
        swap = {id(old): new for old, new in zip(inputs, tensors, strict=True)}
        filled = [[swap.get(id(m), m) for m in a] if isinstance(a, list) else swap.get(id(a), a) for a in made]
        return FUNCTIONS[call.op.name](*filled, **kwargs)

    return function, spread


def has_a_rule_of_its_own(result: Any) -> bool:
    """Whether the op, or a JAX function in it, has a derivative written by hand. JAX derives the second derivatives of all others."""
    kernels = [o.grad_fn.rule.kernel for o in outputs(result) if o.grad_fn is not None]
    jaxpr_of = tracing(lambda kernel: str(jax.make_jaxpr(kernel.fn)(*(a.abstract() for a in kernel.in_avals))))
    return any("custom_" in jaxpr_of(kernel) for kernel in kernels)


@pytest.mark.parametrize("call", NAMELESS, ids=ids(NAMELESS))
def test_gradients_are_those_that_finite_differences_measure(call):
    function, inputs = in_float64(call)
    assert gradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("call", FIRST_SMOOTH, ids=ids(FIRST_SMOOTH))
def test_second_derivatives_are_those_that_finite_differences_measure(call):
    function, inputs = in_float64(call)
    if not has_a_rule_of_its_own(function(*inputs)):
        pytest.skip("every derivative of it is JAX's own")
    assert gradgradcheck(function, inputs, fast_mode=True)


# ---- traced and eager mode

FIRST = [
    c for c in CALLS
    if c.number == 0 and c.dtype == ("float32" if Category.FLOAT in c.op.dtype_rule.accepts else "int64") and not is_random(c)
    and (c.sample.shapes or c.sample.values)
]  # fmt: skip


@pytest.mark.parametrize("call", FIRST, ids=ids(FIRST))
def test_a_compiled_program_gives_what_eager_mode_gives(call):
    made, kwargs, _ = make(call)
    function = FUNCTIONS[call.op.name]
    with torch.op_by_op():
        expected = function(*made, **kwargs)
    for _ in range(2):  # the second call compiles the recorded path as a whole
        results = function(*made, **kwargs)
        for got, wanted in zip(outputs(results), outputs(expected), strict=True):
            assert_near(got, numpy(wanted), str(got.dtype).removeprefix("torch."))
