"""Module: registration and its rules, iteration over members, modes, moving, calling."""

import abc
import copy
import pickle
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(2))
        self.plain = "kept"

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def test_members_are_found_by_kind_and_by_dotted_name():
    model = Model()
    names = ["scale", "first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert [n for n, _ in model.named_parameters()] == names
    assert [n for n, _ in model.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in model.named_buffers()] == ["seen"]
    assert [n for n, _ in model.named_children()] == ["first", "second"]
    assert [n for n, _ in model.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert model.get_submodule("second.1") is model.second[1]
    assert model.get_parameter("second.1.bias") is model.second[1].bias
    assert model.get_buffer("seen") is model.seen
    assert model.get_submodule("") is model
    assert {"first", "seen", "scale", "plain", "forward"} <= set(dir(model))


def test_a_tied_parameter_is_met_once():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 4
    copied = copy.deepcopy(model)
    assert copied[0].weight is copied[1].weight is not model[0].weight


def test_assignment_moves_a_name_from_one_kind_to_another():
    module = nn.Module()
    module.x = 3
    module.x = nn.Parameter(torch.ones(1))
    assert "x" not in vars(module)
    assert "x" in module._parameters
    module.x = None
    assert module._parameters == {"x": None}
    assert list(module.parameters()) == []
    module.x = nn.Parameter(torch.ones(1))
    del module.x
    assert not hasattr(module, "x")
    module.x = nn.ReLU()
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' as child module 'x'"):
        module.x = nn.Buffer(torch.ones(1))
    module.x = nn.Parameter(torch.ones(1))
    assert module._modules == {}
    del module.x
    module.x = nn.Buffer(torch.ones(1), persistent=False)
    assert module._non_persistent_buffers_set == {"x"}
    assert module.state_dict() == {}
    module.x = torch.zeros(2)
    assert module._buffers["x"].shape == (2,)


def linear():
    return nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("make", "act", "error", "message"),
    [
        (
            linear, lambda m: setattr(m, "weight", torch.ones(2)), TypeError,
            "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            linear, lambda m: setattr(m, "weight", 3), TypeError,
            "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            Model, lambda m: setattr(m, "first", 3), TypeError,
            "cannot assign 'int' as child module 'first' (torch.nn.Module or None expected)",
        ),
        (
            Model, lambda m: setattr(m, "seen", 3), TypeError,
            "cannot assign 'int' as buffer 'seen' (torch.nn.Buffer, torch.Tensor or None expected)",
        ),
        (
            linear, lambda m: setattr(m, "weight", nn.ReLU), TypeError,
            "cannot assign 'torchlike.nn.modules.activation.ReLU' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            linear, lambda m: setattr(m, "weight", len), TypeError,
            "cannot assign 'len' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            linear, lambda m: setattr(m, "weight", copy.deepcopy), TypeError,
            "cannot assign 'copy.deepcopy' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            linear, lambda m: setattr(m, "weight", abc), TypeError,
            "cannot assign 'abc' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            linear, lambda m: m.register_buffer("z", nn.ReLU), TypeError,
            "cannot assign 'torchlike.nn.modules.activation.ReLU' object to buffer 'z' (torch Tensor or None required)",
        ),
        (linear, lambda m: m.add_module("z", dict), TypeError, "dict is not a Module subclass"),
        (linear, lambda m: setattr(m, "in_features", nn.Buffer()), KeyError, "\"attribute 'in_features' already exists\""),
        (linear, lambda m: m.nope, AttributeError, "'Linear' object has no attribute 'nope'"),
        (linear, lambda m: delattr(m, "nope"), AttributeError, "'Linear' object has no attribute 'nope'"),
        (linear, lambda m: m.register_parameter("a.b", None), KeyError, "'parameter name can\\'t contain \".\"'"),
        (linear, lambda m: m.register_parameter("", None), KeyError, "'parameter name can\\'t be empty string \"\"'"),
        (linear, lambda m: m.register_parameter("forward", None), KeyError, "\"attribute 'forward' already exists\""),
        (linear, lambda m: m.register_parameter(3, None), TypeError, "parameter name should be a string. Got int"),
        (
            linear, lambda m: m.register_parameter("z", torch.ones(1)), TypeError,
            "cannot assign 'torch.FloatTensor' object to parameter 'z' (torch.nn.Parameter or None required)",
        ),
        (
            linear, lambda m: m.register_buffer("z", 3), TypeError,
            "cannot assign 'int' object to buffer 'z' (torch Tensor or None required)",
        ),
        (linear, lambda m: m.add_module("z", 3), TypeError, "int is not a Module subclass"),
        (linear, lambda m: m.add_module("a.b", None), KeyError, "'module name can\\'t contain \".\", got: a.b'"),
        (Model, lambda m: m.get_submodule("second.7"), AttributeError, "Sequential has no attribute `7`"),
        (Model, lambda m: m.get_submodule("first.weight"), AttributeError, "`weight` is not an nn.Module"),
        (Model, lambda m: m.get_parameter("seen"), AttributeError, "`seen` is not an nn.Parameter"),
        (Model, lambda m: m.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
        (linear, lambda m: m.train(3), ValueError, "training mode is expected to be boolean"),
        (
            linear, lambda m: m.to(torch.int32), TypeError,
            "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32",
        ),
        (nn.Module, lambda m: m(1), NotImplementedError, 'Module [Module] is missing the required "forward" function'),
        (linear, lambda m: m(1, 2), TypeError, "Linear.forward() takes 2 positional arguments but 3 were given"),
    ],
)  # fmt: skip
def test_what_is_refused_and_how_it_is_said(make: Any, act: Any, error: type[Exception], message: str):
    module = make()
    before = repr(module), list(module.state_dict())
    with pytest.raises(error) as caught:
        act(module)
    assert str(caught.value) == message
    assert (repr(module), list(module.state_dict())) == before


@pytest.mark.parametrize(
    ("value", "kind"),
    [(nn.Parameter(torch.ones(1)), "parameters"), (nn.ReLU(), "module"), (nn.Buffer(torch.ones(1)), "buffer")],
)
def test_members_need_the_base_to_be_initialised(value: Any, kind: str):
    class Forgetful(nn.Module):
        def __init__(self):
            self.x = value

    with pytest.raises(AttributeError) as caught:
        Forgetful()
    assert str(caught.value) == f"cannot assign {kind} before Module.__init__() call"


class Watching(nn.Module):
    """Overrides the register methods, which must see what is assigned as an attribute."""

    def __init__(self):
        super().__init__()
        self.seen: list[Any] = []

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        self.seen.append((name, tensor is None, persistent))
        super().register_buffer(name, tensor, persistent)

    def register_parameter(self, name: str, param: Any) -> None:
        self.seen.append((name, param is None))
        super().register_parameter(name, param)


def test_an_assigned_member_goes_through_the_methods_that_register_it():
    module = Watching()
    module.lasting = nn.Buffer(torch.ones(1))
    module.lasting = torch.ones(2)
    module.lasting = None
    module.passing = nn.Buffer(torch.ones(1), persistent=False)
    module.passing = torch.zeros(1)
    module.weight = nn.Parameter(torch.ones(1))
    module.weight = None
    module.plain = torch.ones(1)
    assert module.seen == [
        ("lasting", False, True), ("lasting", False, True), ("lasting", True, True), ("passing", False, False),
        ("passing", False, False), ("weight", False), ("weight", True),
    ]  # fmt: skip


def test_register_buffer_of_the_old_form_cannot_take_what_state_dict_leaves_out():
    class Old(nn.Module):
        def register_buffer(self, name: str, tensor: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            super().register_buffer(name, tensor)

    module = Old()
    module.lasting = nn.Buffer(torch.ones(1))
    assert list(module.state_dict()) == ["lasting"]
    with pytest.raises(
        RuntimeError, match=r"^Registering a non-persistent buffer on a Module subclass that implements register_buf"
    ):
        module.passing = nn.Buffer(torch.ones(1), persistent=False)


def test_hooks_on_the_registration_of_buffers_see_none_too():
    seen: list[Any] = []
    handle = nn.modules.module.register_module_buffer_registration_hook(
        lambda module, name, value: seen.append((name, value is None))
    )
    try:
        module = nn.Module()
        module.buffer = nn.Buffer(torch.ones(1))
        module.buffer = None
    finally:
        handle.remove()
    assert seen == [("buffer", False), ("buffer", True)]


def test_a_call_has_the_names_by_which_libraries_reach_it():
    module = nn.ReLU()
    x = torch.tensor([-1.0, 2.0])
    assert torch.equal(module._call_impl(x), module(x)) and torch.equal(module._wrapped_call_impl(x), module(x))
    assert module._compiled_call_impl is None
    handle = module.register_forward_hook(lambda module, args, result: result + 1)
    assert module._call_impl(x).tolist() == [1.0, 3.0]
    handle.remove()


def test_a_forward_with_an_argument_called_module_is_called_with_hooks_too():
    class Named(nn.Module):
        def forward(self, module: Any, name: Any = None) -> Any:
            return module

    model = Named()
    model.register_forward_hook(lambda *args: None)
    assert model(module=3, name=4) == 3


def test_modes_reach_all_modules():
    model = Model()
    assert model.eval() is model
    assert not any(m.training for m in model.modules())
    model.train()
    assert all(m.training for m in model.modules())
    model.requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters())


def test_zero_grad_drops_gradients_or_makes_them_zero():
    model = Model()
    model(torch.ones(1, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    "move",
    [
        lambda m: m.to(torch.float64),
        lambda m: m.to("cpu", torch.float64),
        lambda m: m.to(dtype=torch.float64),
        lambda m: m.to(torch.ones(1, dtype=torch.float64)),
        lambda m: m.double(),
        lambda m: m.type(torch.float64),
        lambda m: m.type("torch.DoubleTensor"),
    ],
)
def test_every_way_of_moving_keeps_the_parameter_objects(move):
    model = Model()
    model(torch.ones(1, 2)).sum().backward()
    parameters, optimizer = list(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.1)
    assert move(model) is model
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    assert (
        {p.dtype for p in model.parameters()}
        == {p.grad.dtype for p in parameters if p.grad is not None}
        == {torch.float64}
    )
    assert model.seen.dtype is torch.float64
    optimizer.step()
    assert model(torch.ones(1, 2, dtype=torch.float64)).dtype is torch.float64


def test_apply_goes_from_the_leaves_up():
    seen = []
    Model().apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Model"]


def test_text_of_modules_with_extra_lines():
    class Extra(nn.Module):
        def extra_repr(self):
            return "a=1\nb=2"

    outer = Extra()
    outer.inner = Extra()
    assert repr(Extra()) == "Extra(\n  a=1\n  b=2\n)"
    assert repr(outer) == "Extra(\n  a=1\n  b=2\n  (inner): Extra(\n    a=1\n    b=2\n  )\n)"
    assert str(outer) == repr(outer)


def test_a_pickle_holds_everything_but_shares_nothing():
    model = Model()
    model.first.weight.requires_grad_(False)
    again = pickle.loads(pickle.dumps(model))
    assert again.plain == "kept"
    assert again.first.weight.requires_grad is False
    with torch.no_grad():
        again.scale.fill_(5.0)
    assert model.scale.item() == 1.0


def test_annotations_that_do_not_resolve_and_abstract_methods_do_no_harm():
    class Annotated(nn.Module):
        weight: "NoSuchType"  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
        other: "torch.no_such_thing"  # pyright: ignore[reportAttributeAccessIssue]

        @abc.abstractmethod
        def hook(self): ...

    class Strict(nn.Module, abc.ABC):
        @abc.abstractmethod
        def hook(self): ...

    assert repr(Annotated()) == "Annotated()"  # pyright: ignore[reportAbstractUsage]
    with pytest.raises(TypeError, match="abstract"):
        Strict()  # pyright: ignore[reportAbstractUsage]


@pytest.mark.recorded
def test_a_module_that_evaluates_ends_a_step_of_its_loop():
    model = Model()
    with torch.no_grad():
        for _ in range(3):
            result = model(torch.ones(4, 2))
        torch.explain(reset=True)
        for _ in range(5):
            result = model(torch.ones(4, 2))
        report = torch.explain()
    assert result.shape == (4, 1)
    assert report.compiles == report.op_compiles == 0
    assert report.segments == report.hot == 5


def test_a_parameter_shares_memory_and_says_what_it_is():
    data = torch.zeros(2)
    parameter = nn.Parameter(data)
    with torch.no_grad():
        parameter.add_(1)
    assert data.tolist() == [1.0, 1.0]
    assert parameter.__dict__ == {} == nn.Linear(1, 1).weight.__dict__
    assert isinstance(parameter, torch.Tensor)
    assert type(parameter + 1) is torch.Tensor
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert nn.Parameter(torch.tensor([1]), requires_grad=False).dtype is torch.int64
    assert repr(nn.Parameter()) == "Parameter containing:\ntensor([], requires_grad=True)"
    parameter.grad = torch.ones(2)
    assert copy.deepcopy(parameter).grad is None
    with pytest.raises(RuntimeError) as caught:
        nn.Parameter(torch.tensor([1]))
    assert str(caught.value) == "Only Tensors of floating point and complex dtype can require gradients"


class Blank(torch.nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        if inner is not None:
            self.inner = inner

    def extra_repr(self):
        return "a\n\nb"


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (Blank(), "Blank(\n  a\n  \n  b\n)"),
        (Blank(Blank()), "Blank(\n  a\n  \n  b\n  (inner): Blank(\n    a\n\n    b\n  )\n)"),
        (
            torch.nn.ModuleList([Blank(Blank())]),
            "ModuleList(\n  (0): Blank(\n    a\n    \n    b\n    (inner): Blank(\n      a\n  \n      b\n    )\n  )\n)",
        ),
    ],
)
def test_empty_lines_of_a_representation_are_pytorchs(module, text):
    assert repr(module) == text


def test_a_memory_format_is_of_the_tensors_with_four_or_five_dimensions():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)).to(memory_format=torch.channels_last)
    assert [p.stride() for p in model.parameters()] == [(27, 1, 9, 3), (1,), (1,), (1,), (4, 1), (1,)]
    model.to(torch.float64, memory_format=torch.contiguous_format)
    assert model[0].weight.stride() == (27, 9, 3, 1) and model[0].weight.dtype is torch.float64
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        nn.Conv3d(2, 3, 3).to(memory_format=torch.channels_last)
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        model.to(memory_format=3)  # pyright: ignore[reportArgumentType]
