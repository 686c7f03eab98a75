"""Random programs of the fuzzer, by PyTorch and by torchlike. Other seeds would find more: `python -m tests.fuzz both`."""

import pytest

import torchlike
from tests.fuzz.comparing import first_difference
from tests.fuzz.explained import explanation
from tests.fuzz.programs import program_of
from tests.fuzz.running import run

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


@pytest.mark.parametrize("seed", range(100, 112))
def test_programs_write_the_same_rows(seed):
    text = str(program_of(seed, most_rounds=8))
    found = first_difference(run("torch", text), run("torchlike", text))
    if found is None or explanation(text, found):
        return
    for library in (torch, torchlike):  # rounding, if it disappears in double precision
        library.set_default_dtype(library.float64)
    try:
        assert first_difference(run("torch", text), run("torchlike", text)) is None, text
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_graph_saves_copies_within_a_transform_as_well():
    text = """
def program():
    with guard(0):
        late(torch.func.grad(lambda x: (x * x.data + x.data.mul_(0)).sum())(torch.ones(2)))
    with guard(1):
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        (y * y.data + y.mul_(0)).sum().backward()
        late(x.grad)
"""
    assert first_difference(run("torch", text, copies=True), run("torchlike", text)) is None
