"""The ``torch._foreach_*`` family compared with PyTorch's: every name, and errors."""

import pytest

import torchlike
from torchlike.ops.composite.foreach import UNARY

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare

NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_"))
ONE_ALONE = {f"_foreach_{name}{end}" for name in UNARY.split() for end in ("", "_")}
CHOSEN = [name for name in NAMES if name not in ONE_ALONE] + [
    "_foreach_sqrt",
    "_foreach_sqrt_",
]  # the other names follow the same pattern


def lists(module):
    return [module.tensor([[0.25, 0.5], [0.75, 0.3]]), module.tensor([[0.2, 0.9], [0.1, 0.4]])]


def arguments(module, name):
    """Returns a call of each kind that PyTorch has."""
    base, one, other = name.removeprefix("_foreach_").rstrip("_"), lists(module), lists(module)
    if base in ("addcmul", "addcdiv"):
        factors = [2, [2.0, 3.0], module.tensor([2.0, 3.0])]
        return [(one, other, other, factor) for factor in factors] + [(one, other, other)]
    if base == "lerp":
        return [(one, other, 0.3), (one, other, other), (one, other, [0.1, 0.2])]
    if base in ("copy", "mm"):
        return [(one, other)]
    if base in ("add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "maximum", "minimum"):
        calls = [(one, 0.5), (one, [0.5, 2]), (one, other)]
        return calls + ([(one, module.tensor(2.0))] if base in ("add", "mul", "div") else [])
    return [(one,)]


def outcome(module, name, number):
    given = arguments(module, name)[number]
    found = getattr(module, name)(*given)
    assert (found is given[0]) is name.endswith("_")
    return type(found).__name__, [(each.dtype is module.float32, each.tolist()) for each in found]


def test_the_names_are_the_same():
    assert sorted(name for name in dir(torchlike) if name.startswith("_foreach_")) == NAMES


@pytest.mark.parametrize("name", CHOSEN)
def test_what_each_gives(name):
    for number in range(len(arguments(torch, name))):
        ours, theirs = outcome(torchlike, name, number), outcome(torch, name, number)
        assert ours[0] == theirs[0]
        for (same, a), (also, b) in zip(ours[1], theirs[1], strict=True):
            assert same is also
            torch.testing.assert_close(torch.tensor(a), torch.tensor(b))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m._foreach_mul(x, [2]),
        lambda m, x: m._foreach_mul(x, x[:1]),
        lambda m, x: m._foreach_sqrt([]),
        lambda m, x: m._foreach_add_(x, m.ones(2)),
        lambda m, x: m._foreach_addcmul_(x, x, x, [2]),
        lambda m, x: m._foreach_addcdiv(x, x, x, m.tensor([2])),
        lambda m, x: m._foreach_sqrt_([m.tensor([[1, 2], [3, 4]])]),
    ],
)
def test_what_is_refused(call):
    said = []
    for module in (torchlike, torch):
        with pytest.raises(RuntimeError) as error:
            call(module, lists(module))
        said.append(str(error.value))
    assert said[0] == said[1]
