"""torch.compile and torch.jit: the returned functions compute the same as before, and unsupported calls raise errors."""

import copy
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn


def double(x):
    return x * 2


def triple(x):
    return x * 3


def never_a_script(x):
    return x


def test_what_is_compiled_is_what_was_given():
    model = nn.Linear(2, 2)
    assert torch.compile(model)._orig_mod is model and torch.compile(double, mode="max-autotune") is double
    assert torch.compile(fullgraph=True)(double) is double
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(double, mode="default", options={})
    with pytest.raises(NotImplementedError, match="a backend of your own"):
        torch.compile(double, backend=lambda graph, inputs: graph)


def test_scripts_and_traces_run():
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    assert torch.jit.script(model) is model and torch.jit.script(double) is double
    assert torch.jit.trace(model, x)(x).tolist() == model(x).tolist()
    assert torch.jit.ignore(double) is double and torch.jit.ignore(drop=True)(double) is double
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing()
    with pytest.raises(RuntimeError, match="cannot both be None"):
        torch.jit.trace(model)
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(model)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else -x


def test_scripts_are_saved_and_loaded(tmp_path):
    model, x = torch.jit.script(Branching().eval()), torch.ones(1, 2)
    model.save(tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt", map_location="cpu")
    assert torch.equal(loaded(x), model(x)) and torch.equal(loaded(-x), x) and not loaded.training
    assert isinstance(loaded, torch.jit.ScriptModule) and isinstance(model.linear, torch.jit.ScriptModule)
    assert model.original_name == "Branching" and "self.linear(x)" in model.code
    found: dict[str, Any] = {"notes": ""}
    buffer = torch.jit.trace(nn.ReLU(), x).save_to_buffer({"notes": "two"})
    assert torch.jit.load(io.BytesIO(buffer), _extra_files=found)(-x).tolist() == [[0, 0]] and found == {
        "notes": b"two"
    }


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.drop, self.norm = 2, nn.Dropout(0.5), nn.BatchNorm1d(2)
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x):
        self.n = self.n + 1
        return self.norm(self.drop(x)) * self.k


def test_a_trace_is_the_module_as_it_was():
    model, x = Scaled().eval(), torch.ones(3, 2)
    trace = torch.jit.trace(model, x)
    assert trace is not model and trace.norm.weight is model.norm.weight and not trace.training
    model.k, expected = 3, trace(x)
    for changed in (model, trace):
        changed.train()
        assert torch.equal(trace(x), expected) and torch.allclose(trace(x), x * 2, rtol=1e-4)
    assert not model.norm.num_batches_tracked
    loaded = torch.jit.load(io.BytesIO(trace.save_to_buffer()))
    for each in (trace, loaded, copy.deepcopy(trace)):
        before = each.n.item()
        each.double()  # also what runs
        assert each(x.double()).dtype == torch.float64 and each.n.item() == before + 1
    trace = torch.jit.trace(nn.Dropout(0.5).train(), torch.ones(100)).eval()
    assert not torch.equal(trace(torch.ones(100)), torch.ones(100))


def test_a_trace_keeps_autocast():
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    with torch.autocast("cpu", torch.bfloat16):
        trace, product = torch.jit.trace(model, x), torch.jit.trace(lambda a: a @ a.t(), x)
        by_method = torch.jit.trace_module(model, {"forward": x})
    assert (
        trace(x).dtype == product(x).dtype == by_method(x).dtype == torch.bfloat16 and model(x).dtype == torch.float32
    )
    assert torch.jit.load(io.BytesIO(trace.save_to_buffer()))(x).dtype == torch.bfloat16
    with torch.autocast("cpu", torch.float16):
        assert trace(x).dtype == torch.bfloat16
    trace(x).sum().backward()
    assert model.weight.grad is not None


def test_a_trace_runs_the_hooks_that_there_were_once():
    calls = []
    model = nn.ReLU()
    model.register_forward_hook(lambda *given: calls.append(torch.jit.is_tracing()))
    trace = torch.jit.trace(model, torch.ones(1))
    trace(torch.ones(1))
    assert calls == [True, True] and not torch.jit.is_tracing()


def test_functions_are_scripts_too():
    assert not isinstance(never_a_script, torch.jit.ScriptFunction)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(triple), file)
    assert isinstance(triple, torch.jit.ScriptFunction) and not isinstance(len, torch.jit.ScriptFunction)
    assert torch.jit.load(io.BytesIO(file.getvalue()))(torch.ones(1)).item() == 3


def test_load_knows_the_files_of_scripts(tmp_path):
    path = tmp_path / "script.pt"
    torch.jit.save(torch.jit.script(nn.Linear(3, 4)), path)
    with pytest.raises(RuntimeError, match="^Cannot use ``weights_only=True`` with TorchScript archives passed to"):
        torch.load(path)
    with pytest.warns(UserWarning, match="dispatching to 'torch.jit.load'"):
        loaded = torch.load(path, weights_only=False)
    assert isinstance(loaded, torch.jit.ScriptModule) and loaded(torch.ones(3)).shape == (4,)


def test_files_that_are_no_scripts_are_refused(tmp_path):
    assert not hasattr(nn.ReLU(), "save") and not isinstance(nn.ReLU(), torch.jit.ScriptModule)
    with pytest.raises(AttributeError, match="'ReLU' object has no attribute 'save'"):
        torch.jit.save(nn.ReLU(), tmp_path / "x.pt")
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(tmp_path / "x.pt")
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(tmp_path)
    torch.save([1], tmp_path / "list.pt")
    with pytest.raises(NotImplementedError, match="did not write"):
        torch.jit.load(tmp_path / "list.pt")


SCRIPTS = Path(__file__).parent / "golden" / "scripts"


@pytest.mark.parametrize(("name", "told"), json.loads((SCRIPTS / "scripts.json").read_text("utf-8")).items())
def test_archives_of_pytorchs_have_their_weights(name, told):
    loaded = torch.jit.load(SCRIPTS / name)
    state = loaded.state_dict()
    assert {key: [str(each.dtype), each.tolist()] for key, each in state.items()} == told["state"]
    assert list(state) == list(told["state"])
    assert [key for key, _ in loaded.named_parameters()] == told["parameters"]
    assert [key for key, _ in loaded.named_buffers()] == told["buffers"]
    assert [key for key, _ in loaded.named_modules()] == told["modules"]
    assert (loaded.training, loaded.original_name) == (told["training"], told["name"])
    assert isinstance(loaded, torch.jit.ScriptModule)
    with pytest.raises(NotImplementedError, match=r"does not run TorchScript.*load_state_dict"):
        loaded(torch.ones(1, 2))
    with open(SCRIPTS / name, "rb") as file:
        assert list(torch.jit.load(file, map_location="meta").state_dict()) == list(state)


def test_an_archive_of_pytorchs_runs_no_code(tmp_path):
    """A pickle in it may name the classes of its own program and what tensors are made of, and nothing else."""
    with zipfile.ZipFile(SCRIPTS / "scripted.pt") as archive, zipfile.ZipFile(tmp_path / "bad.pt", "w") as bad:
        for each in archive.infolist():
            data = archive.read(each)
            bad.writestr(
                each.filename, b"cos\nsystem\n(X\x04\x00\x00\x00truetR." if each.filename.endswith("data.pkl") else data
            )
    with pytest.raises(pickle.UnpicklingError, match=r"os\.system"):
        torch.jit.load(tmp_path / "bad.pt")


def test_annotations_say_nothing():
    assert torch.jit.annotate(list[int], [1]) == [1]


def test_a_fork_gives_a_future():
    future = torch.jit.fork(torch.add, torch.ones(1), 2)
    assert isinstance(future, torch.jit.Future) and torch.jit.wait(future).tolist() == [3]
    with pytest.raises(ZeroDivisionError):
        torch.jit.wait(torch.jit.fork(lambda: 1 / 0))


@pytest.mark.parametrize(
    ("value", "kind", "answer"),
    [
        (1, int, True), ([1], list[int], True), ([1, "a"], list[int], False), ({"a": 1}, dict[str, int], True),
        ({1: 1}, dict[str, int], False),
        ((1, "a"), tuple[int, str], True), ((1,), tuple[int, str], False), (None, int | None, True), ("a", int | None, False),
        (2.0, (int, float), True),
    ],
)  # fmt: skip
def test_isinstance_looks_into_containers(value, kind, answer):
    assert torch.jit.isinstance(value, kind) is answer


def test_what_scripts_say_changes_nothing():
    module = torch.nn.Linear(1, 1)
    assert torch.jit.trace_module(module, {"forward": torch.ones(1, 1)}).weight is module.weight
    assert torch.jit.script_if_tracing(abs) is abs and torch.jit.interface(int) is int
    with torch.jit.strict_fusion():
        pass
    before = torch.jit.set_fusion_strategy([("STATIC", 1)])
    assert torch.jit.set_fusion_strategy(before) == [("STATIC", 1)]


def test_settings_of_scripts_run_what_is_in_them():
    with torch.jit.optimized_execution(False), torch.jit.fuser("fuser1"):
        assert torch.jit.script(torch.relu)(torch.tensor(-1.0)).item() == 0
    with pytest.raises(Exception, match=r"unrecognized fuser option \(name: fuser4\)"), torch.jit.fuser("fuser4"):
        pass
