"""A mode that hands calls on changes nothing: no value, dtype, shape, gradient or error."""

import contextlib
import inspect
import re
import warnings

import numpy as np
import pytest

import torchlike as torch
from tests.library import keyword_forms
from tests.ops import lines, running, samples
from torchlike._core.modes import dispatch_state
from torchlike._core.overridable import overridable_namespaces
from torchlike._ops.expansions.table import EXPANSIONS, expansion_of
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.engine import compiling
from torchlike.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.recorded


class Handing(TorchDispatchMode):
    """Calls the operator with the very arguments that it was given."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Rebuilding(TorchDispatchMode):
    """Calls the operator with equal arguments that are other objects, so that torchlike has to find the history of the results itself."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        dispatch_state.question = None  # nor does it know the tensors that an operator in place writes to
        mutable = func._signature is not None and func._signature.schema.is_mutable
        return func(*[value if mutable else self.other(value) for value in args], **(kwargs or {}))

    def other(self, value):
        if isinstance(value, torch.Tensor):
            return value.detach()
        return type(value)(map(self.other, value)) if isinstance(value, (list, tuple)) else value


@pytest.fixture(autouse=True)
def nothing_is_compiled(engine_mode):
    """What handlers see does not depend on how it is computed, and NumPy computes thousands of small calls fastest."""
    with compiling("never"):
        yield


MODES = (Handing, Rebuilding)

# Operators that change shapes in place, draw random numbers or write to windows that overlap are refused by name where a handler
# computes them by another call. What PyTorch has saved has no version then, so that its error about a write is missing, and the gradient
# is right.
REFUSED = re.compile(
    r"computes aten\.((unsqueeze_|t_|transpose_|squeeze_|native_dropout)\.\w+|\w+\.\w+, which writes to windows that overlap,) "
    "by another call"
)
RIGHT_WITHOUT_ERROR = {
    "M.exp_(); M.add_(1)",
    "M.sigmoid_(); M[0]=0; M",
    "w=M*M; M[0]=0; w.sum().backward()",
    "w=M.exp(); w[0]=0; w.sum().backward()",
}


def without_places(outcome):
    """An outcome without what is not a value: the names of nodes, strides and versions, which a view made again has of its own."""
    return re.sub(r"'(version|grad_fn|stride|offset)': ('[^']*'|\[[^\]]*\]|\d+)(, )?", "", str(outcome)).replace(
        ", }", "}"
    )


@pytest.mark.costly
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", lines.BY_FILE)
def test_no_line_of_code_gives_anything_else(file, mode):
    different = []
    for code in lines.every_line(file):
        plain = running.outcome(torch, code)
        with mode():
            seen = running.outcome(torch, code)
        if mode is Rebuilding and (REFUSED.search(str(seen)) or code in RIGHT_WITHOUT_ERROR):
            continue
        if without_places(plain) != without_places(seen) and running.adopt_near(plain, seen) != seen:
            different.append((code, plain, seen))
    assert not different


def told(result):
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [
        (t.dtype, tuple(t.shape), t.stride(), t.detach().resolve_conj().resolve_neg().to_dense().numpy().copy())
        for t in results
        if isinstance(t, torch.Tensor)
    ]


def assert_told_alike(seen, plain):
    assert [row[:2] for row in seen] == [row[:2] for row in plain]
    for row, expected in zip(seen, plain, strict=True):
        np.testing.assert_allclose(row[3], expected[3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("call", keyword_forms.calls())
def test_no_argument_is_lost(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = keyword_forms.outcome(torch, call, contextlib.nullcontext())
        seen = keyword_forms.outcome(torch, call, Handing())
    plain, seen = told(plain), told(seen)
    assert_told_alike(seen, plain)
    if "memory_format" in call:
        assert seen[0][2] == plain[0][2]


def first_calls():
    return [
        call for call in samples.every_call() if call.number == 0 and call.dtype == samples.dtypes_of(call.op, 0)[0]
    ]


def outcome_of(call, function):
    """The results of a sample's call and the gradients of its tensors, or the error."""
    try:
        return results_of(call, function)
    except (RuntimeError, NotImplementedError) as error:
        return repr(error)


def results_of(call, function):
    positional, keywords, roles = samples.arguments(call)
    leaves = []

    def tensor(array, role):
        made = torch.tensor(array)
        if role in "tl" and (made.is_floating_point() or made.is_complex()):
            leaves.append(made.requires_grad_())
        return made

    args = [
        [tensor(v, role) for v in value] if role in "lj" else tensor(value, role) if role in "ti" else value
        for value, role in zip(positional, roles, strict=True)
    ]
    torch.manual_seed(0)
    result = function(*args, **keywords)
    results = [r for r in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(r, torch.Tensor)]
    sums = [(r.abs() if r.is_complex() else r).sum() for r in results if r.grad_fn is not None]
    for total in sums:
        total.backward(retain_graph=True)
    return told(results) + told([leaf.grad for leaf in leaves])


@pytest.mark.costly
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", range(4))
def test_no_operator_gives_anything_else(part, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in first_calls()[part::4]:
            function = FUNCTIONS.get(call.op.name)
            if function is not None:
                plain = outcome_of(call, function)
                with mode():
                    seen = outcome_of(call, function)
                assert type(seen) is type(plain), (call.key, plain, seen)
                if isinstance(plain, str) or isinstance(seen, str):
                    assert seen == plain
                else:
                    assert_told_alike(seen, plain)


def public_functions():
    """The public functions that have an expansion, with the names of their parameters."""
    for space, names in overridable_namespaces().items():
        for name, function in (names if isinstance(names, dict) else vars(names)).items():
            expansion = expansion_of(space, name)
            if expansion is not None and inspect.isfunction(function):
                yield f"{space}.{name}", expansion, inspect.signature(function).parameters


def test_expansions_have_the_parameters_of_their_functions():
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    expanded = set()
    for name, expansion, public in public_functions():
        expanded.add(expansion)
        if any(parameter.kind in variable for parameter in public.values()):
            continue
        _, *own = [p for p in expansion.signature.parameters.values() if p.kind not in variable]
        missing = [p.name for p in own if p.name not in public and p.default is p.empty]
        assert not missing, f"{name} has no parameters {missing}"
    assert expanded == set(EXPANSIONS.values())
