"""Sizes that may vary in exported programs. Messages are PyTorch's."""

import pytest

import torchlike as torch
from torchlike import nn
from torchlike._dynamo.exc import UserError
from torchlike.export import Dim, export
from torchlike.fx.experimental.symbolic_shapes import ConstraintViolationError

pytestmark = pytest.mark.composed


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x, y):
        return torch.relu(self.inner(x)) + y


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b


ARGUMENTS = (torch.ones(5, 4), torch.ones(3))


def test_a_size_varies_between_its_bounds():
    model = Affine()
    program = export(model, ARGUMENTS, dynamic_shapes={"x": {0: Dim("batch", min=3, max=16)}, "y": None})
    run = program.module()
    for size in (3, 5, 16):
        x = torch.randn(size, 4)
        assert torch.equal(run(x, ARGUMENTS[1]), model(x, ARGUMENTS[1]))
    assert repr(program.range_constraints) == "{s0: VR[3, 16]}"
    for shape, words in (
        ((2, 4), r"x.size\(\)\[0\] >= 3"),
        ((17, 4), r"x.size\(\)\[0\] <= 16"),
        ((5, 5), r"x.size\(\)\[1\] == 4"),
    ):
        with pytest.raises(AssertionError, match=f"Guard failed: {words}"):
            run(torch.ones(shape), ARGUMENTS[1])
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec: "):
        run(torch.ones(5, 4))
    with pytest.raises(NotImplementedError, match="sizes that vary"):
        torch.export.save(program, "never_written")


def test_a_program_keeps_the_module_as_it_was():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).eval()
    run = export(model, (torch.ones(3, 2),), dynamic_shapes=({0: Dim.AUTO},)).module()
    model.train()
    x = torch.ones(7, 2)
    assert torch.equal(run(x), model[0](x))
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(run(x), model[0](x))


def test_export_changes_neither_buffers_nor_random_numbers():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    state = torch.get_rng_state()
    export(model.eval(), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("n")},))
    assert torch.equal(torch.get_rng_state(), state) and model[0].num_batches_tracked == 0


def test_sizes_that_are_equal_or_computed():
    size = Dim("size")
    run = export(Sum(), (torch.ones(3, 2), torch.ones(3, 2)), dynamic_shapes={"a": {0: size}, "b": {0: size}}).module()
    assert run(torch.ones(6, 2), torch.ones(6, 2)).shape == (6, 2)
    with pytest.raises(AssertionError, match=r"Guard failed: b.size\(\)\[0\] == a.size\(\)\[0\]"):
        run(torch.ones(6, 2), torch.ones(5, 2))
    auto = {0: Dim.AUTO}
    run = export(Sum(), (torch.ones(3), torch.ones(3)), dynamic_shapes=(auto, auto)).module()
    assert run(torch.ones(4), torch.ones(4)).shape == (4,)
    with pytest.raises(
        UserError, match=r"The values of q = L\['b'\].size\(\)\[0\] and p = L\['a'\].size\(\)\[0\] must always be equal"
    ):
        export(Sum(), (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: Dim("p")}, {0: Dim("q")}))
    assert repr(2 * size + 1) == "2*size + 1"
    run = export(Affine(), ARGUMENTS, dynamic_shapes=({0: 2 * size + 1}, None)).module()
    assert run(torch.ones(9, 4), torch.ones(3)).shape == (9, 3)


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        (
            {"x": {1: Dim("k")}, "y": None},
            UserError,
            r"You marked k as dynamic but your code specialized it to be a constant \(4\)",
        ),
        ({"x": {1: Dim.DYNAMIC}, "y": None}, UserError, r"Constraints violated \(L\['x'\].size\(\)\[1\]\)"),
        ({"x": {0: Dim("z", max=4)}, "y": None}, ConstraintViolationError, r"5 not in range \[2, 4\]"),
        (
            {"x": {0: 7}, "y": None},
            ConstraintViolationError,
            "Static shape constraint of 7 does not match input size of 5",
        ),
        ({"x": {0: "a"}, "y": None}, UserError, "Unexpected dimension mapped to index 0"),
        ({"x": (Dim("z"),), "y": None}, UserError, r"expected 2, but got 1 instead"),
        (
            {"x": None},
            UserError,
            r"top-level keys must be the arg names \['x', 'y'\] of `inputs`, but here they are \['x'\]",
        ),
        ([None], UserError, "`inputs` has 2 elements, but `dynamic_shapes` has 1 elements"),
        ((3, None), UserError, "Unexpected input tensor shape 3"),
        ({"x": {5: Dim("z")}, "y": None}, IndexError, "list assignment index out of range"),
    ],
)
def test_what_is_said_must_fit(said, error, words):
    with pytest.raises(error, match=words):
        export(Affine(), ARGUMENTS, dynamic_shapes=said)


def test_names_and_bounds_of_dims():
    assert [repr(each) for each in (Dim("q"), Dim("q", min=2), Dim("w", min=2, max=5))] == [
        "Dim('q', min=0)", "Dim('q')", "Dim('w', max=5)",
    ]  # fmt: skip
    assert repr(Dim.AUTO) == "DimHint(AUTO)" and repr(Dim.DYNAMIC(max=4)) == "DimHint(DYNAMIC, max=4)"
    with pytest.raises(AssertionError, match="Dim name must be a valid identifier, got a b"):
        Dim("a b")
    with pytest.raises(AssertionError, match="Cannot create Dim with inconsistent min=5, max=2"):
        Dim("a", min=5, max=2)
