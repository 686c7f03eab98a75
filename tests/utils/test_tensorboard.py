"""torch.utils.tensorboard: written values can be read back, every argument may be a tensor, missing functions raise."""

import struct
import sys

import pytest

import torchlike as torch
from torchlike.utils import tensorboard

tensorboardX = pytest.importorskip("tensorboardX")


def written(folder):
    """Returns the values of all event files in a folder: (tag, step, kind, value)."""
    from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]  # made at run time

    found = []
    for path in sorted(folder.rglob("events.*")):
        data = path.read_bytes()
        while data:  # length, its checksum, the event, its checksum
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            found += [(value.tag, event.step, value) for value in event.summary.value]
    return found


def test_scalars_and_histograms_of_tensors(tmp_path):
    with tensorboard.SummaryWriter(tmp_path, filename_suffix=".x") as writer:
        assert writer.log_dir == writer.get_logdir() == str(tmp_path)
        writer.add_scalar("loss", torch.tensor(0.5, requires_grad=True) * 1, 3)
        writer.add_scalar("half", torch.tensor([2.0], dtype=torch.bfloat16), global_step=4)
        writer.add_histogram("weight", torch.arange(4.0), 1, bins=[0, 2, 4])
        writer.add_scalars("both", {"train": torch.tensor(1.0), "test": 2}, 5)
    found = written(tmp_path)
    loss, half, weight = (each for each in found if each[0] != "both")
    assert (loss[0], loss[1], loss[2].simple_value) == ("loss", 3, 0.5)
    assert (half[0], half[1], half[2].simple_value) == ("half", 4, 2.0)
    assert weight[2].histo.num == 4 and weight[2].histo.sum == 6
    assert sorted((tag, step, value.simple_value) for tag, step, value in found if tag == "both") == [
        ("both", 5, 1.0),
        ("both", 5, 2.0),
    ]


def test_pictures_text_settings_and_points(tmp_path):
    pytest.importorskip("PIL")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_image("grid", torch.zeros(3, 4, 5))
        writer.add_images("batch", torch.ones(2, 3, 4, 5))
        writer.add_images("list", [torch.zeros(3, 4, 5), torch.ones(3, 4, 5)], dataformats="CHW")
        writer.add_image_with_boxes("boxed", torch.ones(3, 8, 8), torch.tensor([[1, 1, 4, 4]]))
        writer.add_text("note", "words")
        writer.add_pr_curve("curve", torch.tensor([0, 1]), torch.tensor([0.2, 0.8]))
        writer.add_embedding(torch.eye(4), metadata=list("abcd"), label_img=torch.zeros(4, 3, 4, 4))
        writer.add_hparams({"lr": torch.tensor(0.25), "kind": "sgd"}, {"accuracy": torch.tensor(0.5)}, run_name="one")
    tags = {tag: value for tag, _, value in written(tmp_path)}
    assert (tags["grid"].image.height, tags["grid"].image.width) == (4, 5)
    assert [tags[name].image.width for name in ("batch", "list", "boxed")] == [10, 10, 8]
    assert tags["accuracy"].simple_value == 0.5
    assert {"note/text_summary", "curve", "_hparams_/session_start_info"} <= set(tags)
    (first, *_) = (tmp_path / "00000" / "default" / "tensors.tsv").read_text().splitlines()
    assert first.split() == ["1.0", "0.0", "0.0", "0.0"]


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.inner(x)) + x)


def test_a_graph_has_the_operations_within_their_modules(tmp_path, capsys):
    from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]  # made at run time
    from tensorboardX.proto.graph_pb2 import GraphDef  # pyright: ignore[reportAttributeAccessIssue]

    model = torch.nn.Sequential(Residual(), torch.nn.Linear(4, 2))
    means = model[0].norm.running_mean.clone()
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(3, 4), verbose=True)
    (path,) = tmp_path.iterdir()
    data, graphs = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        event = Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]
        graphs += [GraphDef.FromString(event.graph_def)] if event.graph_def else []
    (graph,) = graphs
    nodes = {node.name: node for node in graph.node}
    add = nodes["Sequential/Residual[0]/add"]
    assert (add.op, list(add.input)) == (
        "aten::add",
        ["Sequential/Residual[0]/BatchNorm1d[norm]/batch_norm", "input/input"],
    )
    assert [dim.size for dim in add.attr["_output_shapes"].list.shape[0].dim] == [3, 4]
    assert list(nodes["output/output"].input) == ["Sequential/Linear[1]/linear"]
    assert "Sequential/Residual[0]/Linear[inner]/weight" in nodes["Sequential/Residual[0]/Linear[inner]/linear"].input
    assert all(name in nodes for node in graph.node for name in node.input)
    assert "aten::relu" in capsys.readouterr().out
    assert torch.equal(model[0].norm.running_mean, means) and model.training and model[0].norm.training


def test_settings_say_which_values_they_may_have(tmp_path):
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData  # pyright: ignore[reportAttributeAccessIssue]

    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "kind": "sgd"}, {"loss": 1.0}, {"kind": ["sgd", "adam"]}, run_name="one")
        with pytest.raises(TypeError, match="should be a list of same type"):
            writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, {"lr": ["a"]})
        with pytest.raises(TypeError, match="one of the settings"):
            writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, {"momentum": [0.1]})
    tags = {tag: value for tag, _, value in written(tmp_path)}
    content = tags["_hparams_/experiment"].metadata.plugin_data.content
    infos = {info.name: info for info in HParamsPluginData.FromString(content).experiment.hparam_infos}
    assert list(infos["kind"].domain_discrete) == ["sgd", "adam"] and tags["loss"].simple_value == 1


def test_what_is_not_supported_is_named(tmp_path):
    with tensorboard.SummaryWriter(tmp_path) as writer:
        with pytest.raises(NotImplementedError, match=r"SummaryWriter.add_tensor yet"):
            writer.add_tensor("loss", torch.ones(2))
        with pytest.raises(ValueError, match="value should be one of int, float, str, bool, or torch.Tensor"):
            writer.add_hparams({"lr": None}, {})


def test_without_the_library_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, "torchlike.utils.tensorboard")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tensorboardX'.*torchlike\[tensorboard\]"):
        import torchlike.utils.tensorboard  # noqa: F401


def test_points_as_tensors(tmp_path):
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("single", torch.tensor(0.1), 1, new_style=True)
        writer.add_scalar("double", 0.1, 2, new_style=True, double_precision=True)
        writer.add_scalar("old", 0.5, 3, double_precision=True)
    single, double, old = written(tmp_path)
    assert single[:2] == ("single", 1) and list(single[2].tensor.float_val) == [torch.tensor(0.1).item()]
    assert double[:2] == ("double", 2) and list(double[2].tensor.double_val) == [0.1]
    assert all(each[2].metadata.plugin_data.plugin_name == "scalars" for each in (single, double))
    assert old[2].simple_value == 0.5


def test_sounds_need_no_package(tmp_path, capsys):
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_audio("sound", torch.tensor([[0.0, 0.5, -1.0]]), 4, sample_rate=100)
        assert not capsys.readouterr().out
        writer.add_audio("loud", torch.tensor([2.0, 0.0]))
        assert "auto clipped" in capsys.readouterr().out
        with pytest.raises(AssertionError, match="1 dimensional"):
            writer.add_audio("wide", torch.zeros(2, 2))
    sound, loud = written(tmp_path)
    audio = sound[2].audio
    assert (audio.sample_rate, audio.num_channels, audio.length_frames, audio.content_type) == (100, 1, 3, "audio/wav")
    assert struct.unpack("<3h", audio.encoded_audio_string[44:]) == (0, 16383, -32767)
    assert struct.unpack("<2h", loud[2].audio.encoded_audio_string[44:]) == (32767, 0)


def test_a_graph_that_returns_a_container_is_refused_when_strict(tmp_path):
    class Container(torch.nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind

        def forward(self, x):
            return self.kind(x + 1)

    with tensorboard.SummaryWriter(tmp_path) as writer:
        for kind, name in ((lambda x: {"out": x}, "dict"), (lambda x: [x], "list")):
            with pytest.raises(RuntimeError, match=f"Encountering a {name} at the output of the tracer"):
                writer.add_graph(Container(kind), torch.zeros(2))
            writer.add_graph(Container(kind), torch.zeros(2), use_strict_trace=False)
        writer.add_graph(Container(lambda x: (x,)), torch.zeros(2))
