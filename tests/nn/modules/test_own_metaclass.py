"""Module classes with a user's metaclass, as several libraries define them, and how NNX treats them."""

import abc
import collections
import copy
import dataclasses
import gc
import inspect
import pickle
import subprocess
import sys
import typing
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import torchlike as torch
from torchlike import nn

pytestmark = pytest.mark.composed


class Layers(nn.Module):
    def __init__(self, width: int = 3):
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.norm = nn.BatchNorm1d(width)
        self.note = "kept"

    def forward(self, x: Any) -> Any:
        return self.norm(self.enter(x))


# ---- metaclasses, each like one of a library


def plain() -> Any:
    class Meta(type):
        pass

    class Net(Layers, metaclass=Meta):
        pass

    return Net


def abstract() -> Any:
    class Base(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x: Any) -> Any: ...

    class Net(Layers, Base):
        pass

    return Net


def abstract_meta() -> Any:
    class Net(Layers, metaclass=abc.ABCMeta):
        pass

    return Net


def mixed_on_demand() -> Any:
    """Makes ``Mixed[nn.Linear]`` a new class when it is asked for, as pyro's modules do."""

    class Meta(type):
        made: typing.ClassVar[dict[type, type]] = {}

        def __getitem__(cls, base: Any) -> Any:
            if base not in Meta.made:
                Meta.made[base] = type(cls)(f"Mixed{base.__name__}", (base, Mixed), {})
            return Meta.made[base]

    class Mixed(nn.Module, metaclass=Meta):
        def __init__(self, *args: Any, **kwargs: Any):
            self._samples = collections.OrderedDict()  # before the base class is initialised
            super().__init__(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            if "_samples" in self.__dict__ and name in self.__dict__["_samples"]:
                return self.__dict__["_samples"][name]
            return super().__getattr__(name)

        def __setattr__(self, name: str, value: Any) -> None:
            if name.startswith("drawn_"):
                self._samples[name] = value
            else:
                super().__setattr__(name, value)

    return Mixed[Layers]


def before_and_after() -> Any:
    """Needs no ``super().__init__()`` and runs a method after the constructor, as fastai's modules do."""

    class Signed(type):
        def __new__(mcs, name: str, bases: Any, members: Any) -> Any:
            cls: Any = super().__new__(mcs, name, bases, members)
            if cls.__init__ is not object.__init__:
                cls.__signature__ = inspect.signature(cls.__init__)
            return cls

    class Around(Signed):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            made: Any = cls.__new__(cls)  # pyright: ignore[reportCallIssue]
            if hasattr(made, "__before__"):
                made.__before__()
            made.__init__(*args, **kwargs)
            made.finished = True
            return made

    class Base(nn.Module, metaclass=Around):
        def __before__(self) -> None:
            super().__init__()

        def __init__(self) -> None:
            pass

    class Net(Base):
        def __init__(self, width: int = 3):
            self.enter = nn.Linear(2, width)
            self.norm = nn.BatchNorm1d(width)
            self.note = "kept"

        def forward(self, x: Any) -> Any:
            assert self.finished
            return self.norm(self.enter(x))

    return Net


def registering() -> Any:
    class Meta(type):
        names: typing.ClassVar[list[str]] = []

        @classmethod
        def __prepare__(mcs, name: str, bases: Any, **kwargs: Any) -> Any:
            return collections.OrderedDict()

        def __init__(cls, name: str, bases: Any, members: Any, **kwargs: Any):
            super().__init__(name, bases, members)
            cls.tag = kwargs.get("tag")
            Meta.names.append(name)

        def __new__(mcs, name: str, bases: Any, members: Any, **kwargs: Any) -> Any:
            return super().__new__(mcs, name, bases, dict(members))

    class Net(Layers, metaclass=Meta, tag="x"):
        pass

    assert Net.tag == "x" and Meta.names == ["Net"]
    return Net


def generic() -> Any:
    T = typing.TypeVar("T")

    class Net(Layers, typing.Generic[T]):
        pass

    return Net[int]


def protocol() -> Any:
    class Callable(typing.Protocol):
        def forward(self, x: Any) -> Any: ...

    class Net(Layers, Callable):
        pass

    return Net


def subclass_hook_that_ends_here() -> Any:
    class Base(nn.Module):
        names: typing.ClassVar[list[str]] = []

        def __init_subclass__(cls) -> None:  # does not call super().__init_subclass__()
            Base.names.append(cls.__name__)

    class Last(Base, Layers):
        pass

    assert Base.names == ["Last"]
    return Last


def subclass_hook_with_arguments() -> Any:
    class Base(nn.Module):
        def __init_subclass__(cls, tag: str = "", **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Net(Base, Layers, tag="y"):
        pass

    assert Net.tag == "y"
    return Net


def equal_to_all() -> Any:
    class Meta(type):
        def __eq__(cls, other: object) -> bool:
            return True

        __hash__ = type.__hash__

    class Net(Layers, metaclass=Meta):
        pass

    return Net


def of_dataclass() -> Any:
    @dataclasses.dataclass(eq=False)
    class Net(nn.Module):
        width: int = 3

        def __post_init__(self) -> None:
            super().__init__()
            self.enter = nn.Linear(2, self.width)
            self.norm = nn.BatchNorm1d(self.width)
            self.note = "kept"

        def forward(self, x: Any) -> Any:
            return self.norm(self.enter(x))

    return Net


STYLES = [
    plain, abstract, abstract_meta, mixed_on_demand, before_and_after, registering, generic, protocol, subclass_hook_that_ends_here,
    subclass_hook_with_arguments, equal_to_all, of_dataclass,
]  # fmt: skip


def test_the_class_of_module_classes_is_type():
    assert type(nn.Module) is type
    found = [value for value in vars(nn).values() if isinstance(value, type) and issubclass(value, nn.Module)]
    assert len(found) > 100
    assert {type(cls) for cls in found} == {type}


@pytest.mark.parametrize("style", STYLES)
def test_a_class_of_every_style_works_in_torchlike_and_in_nnx(style):
    torch.manual_seed(0)
    model, x = style()(), torch.tensor([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]])
    names = ["enter.weight", "enter.bias", "norm.weight", "norm.bias"]
    assert [name for name, _ in model.named_parameters()] == names
    assert isinstance(model, nn.Module) and isinstance(model, nnx.Module) and not isinstance(model, nnx.Linear)
    model.eval()
    with torch.op_by_op():  # a path that has become one program may differ in the last bits
        wanted = model(x)
    graph, state = nnx.split(model)
    copies = [copy.deepcopy(model), copy.copy(model), nnx.merge(graph, state), nnx.clone(model)]
    for each in copies:
        assert type(each) is type(model) and each.note == "kept" and each.training is False
        with torch.op_by_op():
            assert torch.equal(each(x), wanted)
    assert graph == nnx.graphdef(model) and hash(graph) == hash(nnx.graphdef(model))
    outer = nnx.List([model])
    assert [path for path, _ in nnx.iter_modules(outer)] == [(0, "enter"), (0, "norm"), (0,), ()]
    nnx.update(model, jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param)))
    assert model(x).abs().sum().item() == 0


@pytest.mark.parametrize("style", [plain, mixed_on_demand, before_and_after])
def test_such_a_class_trains_under_nnx(style):
    model = style()()
    x = jnp.asarray(np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2))

    @nnx.jit
    def step(model, x):
        gradients = nnx.grad(lambda m, x: m(torch.from_jax(x)).square().mean().jax)(model, x)
        return jax.tree.map(jnp.shape, nnx.to_pure_dict(gradients))

    assert sorted(step(model, x)) == ["enter", "norm"]
    assert model.norm.num_batches_tracked.item() == 1


def test_abstract_methods_bind_where_the_class_asks_for_it():
    class Asks(nn.Module, abc.ABC):
        @abc.abstractmethod
        def needed(self): ...

    class AsksToo(nn.Module, metaclass=abc.ABCMeta):
        @abc.abstractmethod
        def needed(self): ...

    class DoesNot(nn.Module):
        @abc.abstractmethod
        def needed(self):
            return 3

    for cls in (Asks, AsksToo):
        with pytest.raises(TypeError, match=rf"^Can't instantiate abstract class {cls.__name__} .*needed"):
            cls()  # pyright: ignore[reportAbstractUsage]
    assert DoesNot().needed() == 3  # pyright: ignore[reportAbstractUsage]

    class Other:
        pass

    Asks.register(Other)
    assert isinstance(Other(), Asks) and not isinstance(
        Other(), nn.Module
    )  # a virtual subclass of Asks is not a subclass of its base


def test_arguments_of_a_class_that_nobody_takes_are_refused():
    with pytest.raises(TypeError, match=r"__init_subclass__\(\) takes no keyword arguments$"):

        class Net(nn.Module, tag=1):  # pyright: ignore[reportCallIssue]
            pass


def test_classes_of_a_function_do_not_outlive_it():
    def use() -> Any:
        class Passing(Layers):
            pass

        model = Passing()
        nnx.update(model, nnx.state(nnx.clone(model)))
        assert isinstance(model, nnx.Module)
        return weakref.ref(Passing)

    reference = use()
    gc.collect()
    assert reference() is None


def test_a_model_that_was_shown_to_nnx_dies_with_its_last_name():
    model = Layers()
    nnx.split(model)
    references = weakref.ref(model), weakref.ref(model.enter.weight)
    gc.disable()
    try:
        del model
        assert [each() for each in references] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "act",
    [
        lambda layer: setattr(layer, "weight", nn.Parameter(torch.zeros(3, 2))),
        lambda layer: setattr(layer, "weight", None),
        lambda layer: delattr(layer, "weight"),
        lambda layer: layer.register_parameter("weight", None),
    ],
)
def test_a_parameter_that_is_replaced_is_let_go(act):
    model = Layers()
    nnx.split(model)
    old = weakref.ref(model.enter.weight)
    act(model.enter)
    assert old() is None


def test_a_walk_over_the_graph_meets_every_variable_once():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)) for _ in range(20)))
    count = sum(1 for _, each in nnx.iter_graph(model) if isinstance(each, nnx.Param))
    assert count == 80
    assert sum(1 for _, each in nnx.iter_graph(model) if isinstance(each, nnx.Variable)) == 140
    assert nnx.find_duplicates(model) == []


class OwnState(Layers):
    def __getstate__(self):
        return self.__dict__.copy()


@pytest.mark.parametrize("kind", [Layers, OwnState])
def test_copies_of_a_model_that_was_shown_share_no_variables(kind):
    model = kind()
    nnx.split(model)
    if kind is Layers:
        assert model.__getstate__().keys() == vars(Layers()).keys()
    for each in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        nnx.update(each, jax.tree.map(jnp.zeros_like, nnx.state(each, nnx.Param)))
        assert each.enter.weight.abs().sum().item() == 0
        assert model.enter.weight.abs().sum().item() > 0


def test_descriptions_of_a_module_can_be_pickled_and_shown():
    graph = nnx.graphdef(Layers())
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert "type='Layers'" in repr(graph)


def test_a_class_may_be_one_of_nnxs_by_descent_as_well():
    class Both(Layers, nnx.Module):
        pass

    model = Both()
    again = nnx.merge(*nnx.split(model, nnx.Param, ...))
    assert [name for name, _ in again.named_parameters()] == [name for name, _ in model.named_parameters()]
    held = nn.Sequential(model)
    assert held[0] is model


def test_cooperative_bases_get_what_pytorch_hands_on():
    seen: list[Any] = []

    class Beside:
        def __init__(self, *args: Any, **kwargs: Any):
            seen.append((args, kwargs))
            super().__init__()

        def __setattr__(self, name: str, value: Any) -> None:
            seen.append(name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            seen.append(f"del {name}")
            super().__delattr__(name)

    class After(nn.Module, Beside):
        pass

    class Called(nn.Module, Beside):
        call_super_init = True

    class Before(Beside, nn.Module):
        def __init__(self) -> None:
            super().__init__(1, two=2)

    model = After()
    seen.clear()
    model.x = 1
    model.weight = nn.Parameter(torch.ones(1))
    model.layer = nn.ReLU()
    model.tensor = torch.ones(1)
    del model.x, model.layer
    assert seen == ["x", "tensor", "del x"]
    seen.clear()
    Before()
    assert seen == [((1,), {"two": 2})]
    Called(5, z=1)  # pyright: ignore[reportCallIssue]
    assert ((5,), {"z": 1}) in seen


def test_a_user_may_have_the_names_of_flax_and_of_torchlikes_own_helpers():
    class Beside:
        def perturb(self) -> int:
            return 1

        def sow(self) -> int:
            return 2

    class Net(nn.Module, Beside):
        pass

    class Wrapper(nn.Module):
        def __init__(self, inner: Any):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    assert (Net().perturb(), Net().sow()) == (1, 2)
    assert (Wrapper(Net()).perturb(), Wrapper(Net()).sow()) == (1, 2)
    with pytest.raises(KeyError, match="attribute 'sow' already exists"):
        Net().register_parameter("sow", nn.Parameter(torch.ones(1)))
    assert not {"sow", "perturb", "set_attributes", "iter_modules"} & set(dir(nn.Module()))
    model = nn.Module()
    for name in (
        "_forget",
        "_cast",
        "_host",
        "_shown",
        "_expects",
        "_check_name",
        "_put_module",
        "_owner_of",
        "_call_with_hooks",
    ):
        setattr(model, name, nn.ReLU())
        assert isinstance(getattr(model, name), nn.ReLU)


def test_a_class_may_have_slots():
    class Net(nn.Module):
        __slots__ = ("quick",)

    model: Any = Net()
    model.quick = 3
    assert model.quick == 3 and "quick" not in vars(model)
    assert not hasattr(copy.deepcopy(model), "quick")  # PyTorch copies only the dictionary too


def test_lists_and_dictionaries_of_modules_are_plain_attributes():
    model = nn.Module()
    model.list, model.dict, model.tuple = [nn.Linear(1, 1)], {"a": nn.Linear(1, 1)}, (nn.Parameter(torch.ones(1)),)
    assert model.state_dict() == {} and list(model.children()) == [] and repr(model) == "Module()"


def test_a_class_given_to_a_module_later_is_known_to_nnx():
    model: Any = nn.Linear(2, 1)
    model.__class__ = type("Parametrized", (nn.Linear,), {})
    assert type(nnx.merge(*nnx.split(model))) is type(model)


def test_importing_torchlike_leaves_flax_as_it_was():
    code = """
from flax import nnx
classes = [nnx.Module, nnx.Pytree, type(nnx.Module), nnx.Variable, nnx.Param, nnx.Linear]
types = (nnx.graphlib if hasattr(nnx, "graphlib") else nnx.graph).GRAPH_REGISTRY
before = [dict(vars(cls)) for cls in classes], dict(vars(nnx)), set(types)
import torchlike as torch
after = [dict(vars(cls)) for cls in classes], dict(vars(nnx)), set(types)
assert after[:2] == before[:2]
new = after[2] - before[2]
assert before[2] <= after[2] and {kind().__module__.split(".")[0] for kind in new} == {"torchlike"}
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
