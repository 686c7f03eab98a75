"""``functional_call``: what stands in a module's places during the call, what is written back, and what is refused, as in PyTorch."""

import re
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.func import functional_call
from torchlike.nn.utils import stateless

pytestmark = pytest.mark.composed

ONE = torch.ones(1)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.k, self.layer = ONE * 2, 3, nn.Linear(1, 1)
        self.register_buffer("b", torch.zeros(1))

    def forward(self, x):
        return x * self.x + self.b


class Sets(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.t = nn.Parameter(torch.zeros(1)), torch.zeros(1)
        self.register_buffer("b", torch.zeros(1))

    def forward(self, x):
        self.b, self.t, self.w = self.b + x, self.t + x, nn.Parameter(x * 7)
        return self.b


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = self.b = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.a.detach() + 10 * self.b.detach()


class New(nn.Module):
    def forward(self, x):
        return x + self.extra


class Cycle(nn.Module):
    def __init__(self):
        super().__init__()
        self.back, self.me = nn.Linear(1, 1), self

    def forward(self, x):
        return self.back(x)


def test_a_plain_attribute_is_replaced_for_the_call():
    module = Plain()
    assert functional_call(module, {"x": ONE * 5, "b": ONE}, ONE) == 6
    assert module.x == 2 and module.b == 0 and "x" in vars(module)


def test_what_the_module_sets_is_written_back():
    module, given = Sets(), {"b": ONE * 2, "t": ONE * 3, "w": ONE}
    assert functional_call(module, given, ONE) == 3
    assert (given["b"], given["t"], given["w"]) == (3, 4, 7) and isinstance(given["w"], nn.Parameter)
    assert (module.b, module.t, module.w) == (0, 0, 0)
    first, second = {"b": ONE * 2}, {"t": ONE * 3}
    functional_call(module, (first, second), ONE)  # several dictionaries are put together first
    assert (first["b"], second["t"], module.b) == (2, 3, 0)


def test_new_names_stand_for_the_call_alone():
    module = New()
    assert functional_call(module, {"extra": ONE}, ONE) == 2 and not hasattr(module, "extra")
    assert (
        functional_call(Cycle(), {"me.back.weight": ONE[None] * 7, "back.bias": ONE * 0}, ONE, tie_weights=False) == 7
    )


def test_none_stands_for_no_tensor():
    without: Any = {"weight": ONE[None], "bias": None}
    assert functional_call(nn.Linear(1, 1), without, ONE) == 1
    assert functional_call(nn.Linear(1, 1, bias=False), {"weight": ONE[None], "bias": ONE}, ONE) == 2
    without = {"running_mean": None, "running_var": None}
    norm = functional_call(nn.BatchNorm1d(1), without, torch.ones(2, 1))
    assert norm.tolist() == [[0.0], [0.0]]


def test_tied_tensors_are_replaced_together():
    assert functional_call(Tied(), {"a": ONE * 5}, ONE) == functional_call(Tied(), {"b": ONE * 5}, ONE) == 55
    assert functional_call(Tied(), {"b": ONE * 5}, ONE, tie_weights=False) == 51
    assert functional_call(Tied(), {"a": ONE, "b": ONE * 2}, ONE, tie_weights=False) == 21
    same = ONE * 3
    assert functional_call(Tied(), {"a": same, "b": same}, ONE, strict=True) == 33
    words = "functional_call got multiple values for keys ['a', 'b'], which are tied. Consider using tie_weights=False"
    with pytest.raises(ValueError, match=re.escape(words)):
        functional_call(Tied(), {"b": ONE, "a": ONE * 2}, ONE)
    with pytest.raises(RuntimeError, match="Missing key\\(s\\): 'b'."):
        functional_call(Tied(), {"a": ONE}, ONE, strict=True, tie_weights=False)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"zz.extra": ONE}, AttributeError, "Plain has no attribute `zz`"),
        ({"k": ONE}, TypeError, "attribute `k`: 3 is not an instance of torch.Tensor"),
        (
            {"layer": ONE},
            TypeError,
            "attribute `layer`: Linear(in_features=1, out_features=1, bias=True) is not an instance of",
        ),
        ({"": ONE}, KeyError, "tensor name can\\'t be empty string"),
        ({"b": 3}, TypeError, "3 is not an instance of torch.Tensor"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changes(given, error, words):
    module = Plain()
    with pytest.raises(error, match=re.escape(words)):
        functional_call(module, {"x": ONE * 9, **given}, ONE)
    assert module.x == 2 and module.b == 0 and module.k == 3 and isinstance(module.layer, nn.Linear)


def test_a_context_replaces_tensors_too():
    module = nn.Linear(1, 1)
    with stateless._reparametrize_module(module, {"weight": ONE[None] * 9}):
        assert module.weight == 9
    assert isinstance(module.weight, nn.Parameter)


def test_the_old_address_warns_and_the_one_of_libraries_does_not(recwarn):
    layer, given = nn.Linear(1, 1), {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}
    assert stateless._functional_call(layer, given, torch.ones(1), tie_weights=False).item() == 1.0
    assert not recwarn.list
    assert stateless.functional_call(layer, given, torch.ones(1)).item() == 1.0
    (warning,) = recwarn.list
    assert warning.category is FutureWarning and str(warning.message) == (
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement."
    )


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias, self.first = nn.Parameter(torch.randn(3)), nn.Linear(3, 3)
        self.first.bias = self.bias
        self.second = self.first
        self.register_buffer("scale", torch.rand(3))
        self.first.register_buffer("scale", self.scale)

    def forward(self, x):
        return self.second(self.first(x)) * self.first.scale + self.bias + self.scale


@pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning")
def test_what_a_module_has_under_several_names_is_one_argument_of_its_function():
    import torchlike.func._deprecated as functorch

    models, x = [Shared(), Shared()], torch.randn(2, 3)
    function, parameters, buffers = functorch.make_functional_with_buffers(models[0])
    assert (len(parameters), len(buffers)) == (2, 1)
    for model in models:
        assert torch.equal(function(list(model.parameters()), list(model.buffers()), x), model(x))
    gradients = torch.func.grad(lambda p: function(p, buffers, x).sum())(parameters)
    models[0](x).sum().backward()
    for gradient, parameter in zip(gradients, models[0].parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    function, *stacked = functorch.combine_state_for_ensemble(models)
    results = torch.func.vmap(function, (0, 0, None))(*stacked, x)
    torch.testing.assert_close(results, torch.stack([model(x) for model in models]))
