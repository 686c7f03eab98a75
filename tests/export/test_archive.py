"""Exported programs in files: what is loaded computes the same without the module's class."""

import io
from typing import Any, cast

import pytest

import torchlike as torch
from torchlike import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(8, 3)
        self.register_buffer("kept", torch.ones(3), persistent=False)

    def forward(self, x, y=None, *, scale=2.0):
        h = torch.relu(self.norm(self.conv(x))).contiguous(memory_format=torch.channels_last).flatten(1)
        a, b = self.out(h).split([1, 2], 1)
        shift = torch.arange(3) + torch.tensor([1, 2, 3])
        return {"a": a * scale, "b": (b.to(torch.float64), [y + self.kept[:1], shift])}


def saved(program, **options):
    file = io.BytesIO()
    torch.export.save(program, file, **options)
    return io.BytesIO(file.getvalue())


def test_a_loaded_program_computes_the_same():
    x, y = torch.randn(2, 1, 4, 4), torch.ones(1)
    program = torch.export.export(Net().eval(), (x, y), {"scale": 3.0})
    loaded = torch.export.load(saved(program))
    found, expected = loaded.module()(x, y, scale=3.0), program.module()(x, y, scale=3.0)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert str(loaded) == str(program) and list(loaded.state_dict) == list(program.state_dict)
    assert all(isinstance(parameter, nn.Parameter) for parameter in loaded.parameters())
    assert dict(loaded.named_buffers()).keys() == dict(program.named_buffers()).keys()
    loaded.module()(x, y, scale=3.0)["a"].sum().backward()
    assert loaded.state_dict["out.weight"].grad is not None


def test_files_and_what_is_kept_beside_a_program(tmp_path):
    program = torch.export.export(nn.Linear(2, 1), (torch.ones(3, 2),))
    torch.export.save(program, tmp_path / "program.pt2", extra_files={"notes": "two"})
    found: dict[str, Any] = {"notes": "", "other": "as it was"}
    loaded = torch.export.load(tmp_path / "program.pt2", extra_files=found)
    assert loaded.graph_signature == program.graph_signature and found == {"notes": "two", "other": "as it was"}


class Own:
    pass


def test_what_a_file_cannot_hold_is_refused_by_name(tmp_path):
    class Gives(nn.Module):
        def forward(self, x):
            return Own()

    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram', got 'Linear' instead"):
        torch.export.save(cast("Any", nn.Linear(1, 1)), io.BytesIO())
    with pytest.raises(NotImplementedError, match="a program with a Own"):
        torch.export.save(torch.export.export(Gives(), (torch.ones(1),)), io.BytesIO())
    torch.save([1], tmp_path / "list.pt")
    with pytest.raises(NotImplementedError, match="did not write"):
        torch.export.load(tmp_path / "list.pt")
