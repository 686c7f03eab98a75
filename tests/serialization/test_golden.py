"""Files that PyTorch wrote can be read without it; files written here contain the same names and values as PyTorch's."""

import io
import json
import zipfile
from pathlib import Path

import pytest

import torchlike as torch
from tests.serialization.cases import CASES, LEGACY, described, trained
from torchlike.serialization._safe_unpickler import Survey

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = GOLDEN / "checkpoints"
WORDS = json.loads((GOLDEN / "checkpoints.json").read_text("utf-8"))


def plain(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(("file", "names"), [("cases.pt", list(CASES)), ("legacy.pt", LEGACY)])
@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["weights only", "anything"])
def test_pytorchs_files_are_read(file, names, options):
    loaded = torch.load(FILES / file, **options)
    assert list(loaded) == names
    for name in names:
        assert plain(described(loaded[name])) == WORDS["cases"][name], name


def test_a_mapped_file_holds_the_same():
    loaded = torch.load(FILES / "cases.pt", mmap=True)
    assert {name: plain(described(value)) for name, value in loaded.items()} == WORDS["cases"]


def test_a_whole_module_of_pytorchs_runs_here():
    model = torch.load(FILES / "module.pt", weights_only=False)
    assert isinstance(model, torch.nn.Sequential)
    found = model.eval()(torch.ones(1, 2))
    torch_says = torch.tensor(WORDS["module of ones"])
    assert torch.allclose(found, torch_says, rtol=1e-6, atol=1e-7)


def test_training_goes_on_from_pytorchs_state():
    state = torch.load(FILES / "training.pt")
    assert plain(described(state)) == WORDS["training"]
    model, optimizer = trained(torch)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert plain(described(optimizer.state_dict())) == WORDS["training"]["items"][1][1]


class Transcript(Survey):
    """A pickle as a tree of its instructions' values."""

    def call(self, function, arguments):
        return ["call", f"{function.module}.{function.name}", arguments, []]

    def new(self, kind, arguments):
        return self.call(kind, arguments)

    def build(self, thing, state):
        thing[3].append(["state", state])

    def append(self, to, items, word):
        to.extend(items)

    def set_items(self, of, items, word):
        pairs = [items[i : i + 2] for i in range(0, len(items), 2)]
        of.update(dict(pairs)) if isinstance(of, dict) else of[3].append(["items", pairs])


def transcript(pickled):
    return repr_of(Transcript(io.BytesIO(pickled), lambda mention: ["storage", *mention[1:]]).load())


def repr_of(tree):
    if isinstance(tree, dict):
        return [[repr_of(k), repr_of(v)] for k, v in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__, *map(repr_of, tree)]
    return f"{tree.module}.{tree.name}" if hasattr(tree, "module") else repr(tree)


def records(file):
    with zipfile.ZipFile(file) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def test_files_written_here_say_what_pytorchs_say():
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save({name: case(torch) for name, case in CASES.items()}, file)
    mine, theirs = records(file), records(FILES / "cases.pt")
    assert transcript(mine.pop("data.pkl")) == transcript(theirs.pop("data.pkl"))
    del theirs[".data/serialization_id"]  # PyTorch's own checksum, which nothing reads
    assert mine == theirs


def test_a_module_written_here_has_the_classes_and_fields_of_pytorchs():
    file = io.BytesIO()
    torch.save(trained(torch)[0], file)
    mine, theirs = (transcript(records(f)["data.pkl"]) for f in (file, FILES / "module.pt"))
    assert sorted(words(mine)) == sorted(words(theirs))


def words(tree):
    """Returns all names and texts of a transcript, also keys of dictionaries."""
    if isinstance(tree, list):
        for each in tree:
            yield from words(each)
    elif tree[0].isalpha() or tree[0] == "'":
        yield tree
