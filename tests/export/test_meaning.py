"""An exported program means what its module means: gradients, switches, writes, constants. Values and messages are PyTorch's."""

import io
import threading
import warnings
from typing import Any, cast

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

pytestmark = pytest.mark.composed

X = torch.arange(4.0) - 1.5


class Calls(nn.Module):
    """Calls a function with itself."""

    def __init__(self, function):
        super().__init__()
        self.function, self.w, self.count, self.seen = function, nn.Parameter(torch.ones(4)), 0, []
        self.register_buffer("b", torch.zeros(4))
        self.register_buffer("passing", torch.zeros(4), persistent=False)
        self.c = torch.full((4,), 3.0)

    def forward(self, x, *args, **kwargs):
        return self.function(self, x, *args, **kwargs)


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a.sign()

    @staticmethod
    def backward(ctx, g):
        return g * 7


def straight_through(m, x):
    y = x * m.w
    return y + (y.sign() - y).detach()


def by_data(m, x):
    y = x * m.w
    return y + (y.sign() - y).data


def without(m, x):
    with torch.no_grad():
        y = (x * m.w) * 2
    return x * m.w * y


def switched(m, x):
    torch.set_grad_enabled(False)
    y = m.w * 3
    torch.set_grad_enabled(True)
    return y * m.w * x


def nested(m, x):
    with torch.no_grad():
        y = m.w * 2
        with torch.enable_grad():
            z = m.w * 3
    return y * z * x


def detached_in_place(m, x):
    y = m.w * x
    z = (y * 2).detach_()
    return z * m.w


def by_function(m, x):
    return Sign.apply(m.w * x)


def hooked(m, x):
    y = m.w * x
    y.register_hook(lambda gradient: gradient * 2)
    return y


def both(m, x):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        y = x[None] @ m.w[:, None]
    return (y.float() * m.w).sum()


# What the weight gets when the results are summed. PyTorch's export takes a Function as what its forward calls, and no hooks.
GRADIENTS = [
    (straight_through, [-1.5, -0.5, 0.5, 1.5]),
    (by_data, [-1.5, -0.5, 0.5, 1.5]),
    (without, [4.5, 0.5, 0.5, 4.5]),
    (switched, [-4.5, -1.5, 1.5, 4.5]),
    (nested, [-9.0, -3.0, 3.0, 9.0]),
    (detached_in_place, [-3.0, -1.0, 1.0, 3.0]),
    (by_function, [0.0, 0.0, 0.0, 0.0]),
    (hooked, [-1.5, -0.5, 0.5, 1.5]),
    (both, [0.0, 0.0, 0.0, 0.0]),
]


def reloaded(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return torch.export.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("again", [lambda program: program, reloaded], ids=["exported", "loaded"])
@pytest.mark.parametrize(("function", "expected"), GRADIENTS, ids=[function.__name__ for function, _ in GRADIENTS])
def test_gradients_are_those_of_the_module(function, expected, again):
    run = again(torch.export.export(Calls(function), (X,))).module()
    run(X).sum().backward()
    assert run.w.grad.tolist() == expected


def test_a_region_without_gradients_gives_none():
    run = torch.export.export(Calls(torch.no_grad()(lambda m, x: m.w * x)), (X,)).module()
    assert not run(X).requires_grad


@pytest.mark.parametrize("again", [lambda program: program, reloaded], ids=["exported", "loaded"])
def test_autocast_is_kept(again):
    def mixed(m, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x[None] @ m.w[:, None]
            with torch.autocast("cpu", enabled=False):
                z = x[None] @ m.w[:, None]
        return y, z

    y, z = again(torch.export.export(Calls(mixed), (X,))).module()(X)
    assert (y.dtype, z.dtype) == (torch.bfloat16, torch.float32)


def test_switches_around_an_export_are_not_part_of_it():
    product = Calls(lambda m, x: x[None] @ m.w[:, None])
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        run = torch.export.export(product, (X,)).module()
    assert run(X).dtype == torch.float32 and run(X).requires_grad
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        assert run(X).dtype == torch.bfloat16 and not run(X).requires_grad


def test_regions_are_graphs_within_the_graph():
    program = torch.export.export(Calls(without), (X,))
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert targets == [
        "wrap_with_set_grad_enabled",
        "<built-in function getitem>",
        "aten.mul.Tensor",
        "aten.mul.Tensor",
    ]
    inner = program.graph_module.submod_1.graph
    assert [str(node.target) for node in inner.nodes if node.op == "call_function"] == ["aten.mul.Tensor"] * 2
    assert torch.equal(program.graph_module(torch.ones(4), torch.zeros(4), torch.zeros(4), X)[0], X * X * 2)


def test_the_module_and_the_arguments_stay_as_they_were():
    def changes(m, x):
        m.count += 1
        m.seen.append(m.count)
        m.b += 1
        m.passing.add_(2)
        m.c.add_(1)
        x.mul_(2)
        torch.rand(1)
        return x * m.b + m.passing + m.count

    module, x = Calls(changes), X.clone()
    torch.manual_seed(0)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    program = torch.export.export(module, (x,))
    assert torch.equal(torch.rand(1), drawn) and torch.equal(x, X)
    assert (module.count, module.seen, module.b[0], module.passing[0], module.c[0]) == (0, [], 0, 0, 3)
    run = program.module()
    assert run(X.clone()).tolist() == [0.0, 2.0, 4.0, 6.0] and run(X.clone()).tolist() == [-1.0, 3.0, 7.0, 11.0]
    assert module.b[0] == 2  # the program has the module's buffers


def test_statistics_of_batch_normalisation_stay_as_they_were():
    module = nn.BatchNorm1d(4)
    run = torch.export.export(module, (torch.rand(3, 4),)).module()
    assert module.num_batches_tracked == 0 and torch.equal(cast("Any", module.running_mean), torch.zeros(4))
    run(torch.ones(3, 4))
    assert run.num_batches_tracked == module.num_batches_tracked == 1


def test_a_buffer_that_is_set_anew_is_written():
    def sets(m, x):
        m.b = m.b + 1
        return x * m.b

    run = torch.export.export(Calls(sets), (X,)).module()
    assert torch.equal(run(X), X) and torch.equal(run(X), X * 2)


def test_an_attribute_that_is_set_is_warned_of():
    def sets(m, x):
        m.z = x * 2
        return m.z

    with pytest.warns(
        UserWarning, match=r"The tensor attribute self.z was assigned during export. Such attributes must"
    ):
        torch.export.export(Calls(sets), (X,))


def scaled(m, x, k=1, *rest, flag=True, word="a", nothing=None):
    return x * k if flag else x * 3


def test_what_is_no_tensor_is_a_constant():
    program = torch.export.export(Calls(scaled), (X, 2), {"flag": True, "nothing": None})
    run = program.module()
    kept = {"flag": True, "nothing": None}
    assert torch.equal(run(X, 2, **kept), X * 2) and torch.equal(run(X, 2.0, flag=1, nothing=5), X * 2)
    specs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind is torch.export.InputKind.USER_INPUT]
    assert [(spec.name, getattr(spec, "value", "a tensor")) for spec in specs] == [
        ("x", "a tensor"), ("args_0", 2), ("flag", True), ("nothing", None),
    ]  # fmt: skip
    for again in (run, reloaded(program).module()):
        with pytest.raises(AssertionError, match="^Guard failed: args_0 == 2$"):
            again(X, 3, **kept)
        with pytest.raises(AssertionError, match="^Guard failed: flag == True$"):
            again(X, 2, flag=False, nothing=None)
        with pytest.raises(
            ValueError, match=r"Got the following keywords \['flag'\] but expected \['flag', 'nothing'\]"
        ):
            again(X, 2, flag=True)
        with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree spec: "):
            again(X, 2, 3, **kept)


class Nested(nn.Module):
    def forward(self, d, pair=(1, 2)):
        return d["x"] * d["k"] + pair[1]


def test_constants_and_sizes_in_containers_are_named():
    run = torch.export.export(Nested(), ({"x": X, "k": 2}, [1, 2])).module()
    assert torch.equal(run({"k": 2, "x": X}, [1, 2]), X * 2 + 2)  # the order of keys does not matter
    for arguments, shown in (
        (({"x": X, "k": 3}, [1, 2]), r"d\['k'\] == 2"),
        (({"x": X, "k": 2}, [1, 3]), r"pair\[1\] == 2"),
        (({"x": X[:3], "k": 2}, [1, 2]), r"d\['x'\].size\(\)\[0\] == 4"),
    ):
        with pytest.raises(AssertionError, match=f"^Guard failed: {shown}$"):
            run(*arguments)
    with pytest.raises(ValueError, match="tree spec"):
        run({"x": X, "k": 2}, (1, 2))
    with pytest.raises(ValueError, match="Unsupported input type <class 'torch.*dtype'>"):
        torch.export.export(Nested(), ({"x": X, "k": torch.float32},))


def test_tensors_from_elsewhere_are_constants():
    elsewhere = torch.ones(4)
    program = torch.export.export(Calls(lambda m, x: x * m.c + elsewhere + torch.tensor([1.0, 2, 3, 4])), (X,))
    assert program.graph_signature.lifted_tensor_constants == ("c", "lifted_tensor_0", "lifted_tensor_1")
    run = program.module()
    elsewhere.mul_(2)
    assert torch.equal(run(X), X * 3 + 2 + torch.tensor([1.0, 2, 3, 4]))

    def writes(m, x):
        made = torch.zeros(4) + torch.tensor([1.0, 2, 3, 4])
        own = torch.tensor([1.0, 1, 1, 1])
        return own.add_(x) + made

    run = torch.export.export(Calls(writes), (X,)).module()
    assert torch.equal(run(X), run(X))  # a constant is not what is written to


def test_shared_parameters_stay_shared():
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    module[1].weight = module[0].weight
    program = torch.export.export(module, (X,))
    run = program.module()
    assert program.graph_signature.parameters == ("0.weight", "0.bias", "1.weight", "1.bias")
    run(X).sum().backward()
    module_result = module(X)
    assert torch.equal(run(X), module_result) and module[0].weight.grad is run.get_parameter("1.weight").grad


def test_what_cannot_be_copied_is_shared():
    module = Calls(lambda m, x: x * m.w)
    module.lock = threading.Lock()
    assert torch.equal(torch.export.export(module, (X,)).module()(X), X)


def test_an_argument_within_a_graph_may_be_written_to():
    z = X.clone().requires_grad_() * 1
    run = torch.export.export(Calls(lambda m, x: x.mul_(2)), (z,)).module()
    assert torch.equal(z.detach(), X)
    leaf = X.clone().requires_grad_()
    run(leaf * 1).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 4


def test_a_program_knows_that_it_is_exported():
    run = torch.export.export(Calls(lambda m, x: x * (2 if torch.compiler.is_exporting() else 3)), (X,)).module()
    assert torch.equal(run(X), X * 2) and not torch.compiler.is_compiling()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda m, x: x * x.sum().item(), r"reads an element of a tensor \(item, bool\)"),
        (lambda m, x: x if x.sum() > 0 else -x, r"reads an element of a tensor \(item, bool\)"),
        (lambda m, x: x + torch.from_numpy(x.numpy()), r"reads the elements of a tensor \(numpy\)"),
        (lambda m, x: x + x.tolist()[0], r"reads the elements of a tensor \(tolist\)"),
        (lambda m, x: x * torch.equal(x, m.b), r"reads elements of a tensor \(aten.equal.default\)"),
        (
            lambda m, x: torch.autograd.grad((m.w * x).sum(), m.w, create_graph=True)[0] * m.w,
            "by other means than operators",
        ),
    ],
)
def test_what_a_graph_cannot_hold_is_refused(function, words):
    with pytest.raises(
        RuntimeError, match=f"does not support torch.export.export of a module that .*{words}"
    ) as caught:
        torch.export.export(Calls(function), (X,))
    assert isinstance(caught.value, GuardOnDataDependentSymNode) == ("an element" in words)


def test_a_tensor_from_elsewhere_is_not_written_to():
    elsewhere = torch.ones(4)
    with pytest.raises(RuntimeError, match="writes to a tensor that is neither an argument nor a part of the module"):
        torch.export.export(Calls(lambda m, x: elsewhere.add_(x)), (X,))
    assert elsewhere.tolist() == [1.0] * 4


def test_sizes_that_depend_on_elements_are_checked():
    run = torch.export.export(Calls(lambda m, x: x[x > 0].sum() / x[x > 0].shape[0]), (X,)).module()
    assert run(X) == run(-X) == 1
    with pytest.raises(
        RuntimeError, match=r"index had the shape \(2,\) when the program was exported, and has \(4,\) now"
    ):
        run(torch.ones(4))


def test_other_branches_for_other_sizes_are_refused():
    batch = torch.export.Dim("batch", min=2)
    module = Calls(lambda m, x: x * 2 if x.shape[0] > 1 else x * 3 + 1)
    run = torch.export.export(module, (torch.ones(3, 4),), dynamic_shapes=({0: batch},)).module()
    assert run(torch.ones(5, 4)).shape == (5, 4)
    with pytest.raises(AssertionError, match="Guard failed: the module calls other operators"):
        run(torch.ones(1, 4))


def test_a_program_is_run_by_its_module_in_the_mode_it_was_exported_in():
    program = torch.export.export(nn.Dropout(), (X,))
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(X)
    for name in ("train", "eval"):
        with pytest.raises(NotImplementedError, match=rf"Calling {name}\(\) is not supported yet."):
            getattr(program.module(), name)()
    with pytest.raises(torch._dynamo.exc.UserError, match="Expecting `args` to be a tuple"):
        torch.export.export(nn.ReLU(), cast("Any", X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program.graph_signature.buffers_to_mutate == {}
