"""Shapes: the lines of `tests/ops/lines.py` give the results, layouts, gradients and errors recorded from PyTorch."""

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome

pytestmark = pytest.mark.single


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("shape"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["shape"][line], told)


@pytest.mark.parametrize(
    ("shape", "call", "message"),
    [
        (
            (2, 3, 4),
            lambda x: x.T,
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated",
        ),
        ((3,), lambda x: x.T, "The use of `x.T` on tensors of dimension other than 2"),
        ((), lambda x: x.T, "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."),
        ((), lambda x: x.mT, "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases."),
        ((), lambda x: x.H, r"Tensor.H is deprecated on 0-D tensors. Consider using x.conj\(\)."),
        ((), lambda x: x.mH, r"Tensor.mH is deprecated on 0-D tensors. Consider using x.conj\(\)."),
        ((), lambda x: x.adjoint(), r"adjoint\(\) is deprecated on 0-D tensors. Consider using x.conj\(\)."),
    ],
)
def test_transposing_what_is_no_matrix_warns_once(monkeypatch, shape, call, message):
    monkeypatch.setattr("torchlike.dispatch.warned.once.given", set())
    x = torch.ones(shape)
    with pytest.warns(UserWarning, match=message) as caught:
        assert call(x).shape == shape[::-1]
    assert len(caught) == 1 and caught[0].filename == __file__
    call(x)
