"""A model as a table, and a graph as a picture."""

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.utils.graph import dot

pytestmark = pytest.mark.recorded

TABLE = """\
===========================================
Layer              Output shape  Parameters
===========================================
Two                [4, 2], [2]           28
  emb (Embedding)  [4, 2]                10
  l (Linear)       [4, 2]                 6
  l (Linear)       [4, 2]           (again)
  unused (Linear)  not called            12
===========================================
Parameters: 28 (22 trainable, 6 not)
Memory: inputs 0.00 MB, outputs of layers 0.00 MB, parameters 0.00 MB
==========================================="""


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.unused = nn.Linear(3, 3)
        self.emb = nn.Embedding(5, 2)

    def forward(self, i, x):
        return self.l(self.l(self.emb(i))) + x, x


def test_the_table_has_each_call_in_order_and_counts_parameters_once():
    model = Two()
    model.l.requires_grad_(False)
    assert str(torch.summary(model, [(4,), (2,)], dtypes=[torch.int64, torch.float32])) == TABLE
    assert repr(torch.summary(model, input_data=(torch.tensor([0, 1, 2, 4]), torch.ones(2)))) == TABLE


def test_totals_and_depth():
    model = nn.Sequential(nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 4))
    found = torch.summary(model, (32, 8), depth=1)
    assert [layer.kind for layer in found.layers] == ["Sequential", "Sequential", "Linear", "ReLU", "Linear"]
    assert "ReLU" not in str(found)
    assert found.parameters == 8 * 16 + 16 + 16 * 4 + 4 and found.bytes_of_parameters == 4 * found.parameters
    assert found.bytes_of_inputs == 32 * 8 * 4 and found.bytes_of_outputs == 32 * (16 + 16 + 4) * 4
    assert [layer.own_parameters for layer in found.layers] == [0, 0, 144, 0, 68]


def test_the_model_is_as_it_was():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    model[1].eval()
    state = torch.get_rng_state()
    torch.summary(model, (3, 2))
    assert model.training and model[0].training and not model[1].training
    assert model[0].num_batches_tracked == 0 and torch.equal(torch.get_rng_state(), state)
    assert not model[0]._forward_hooks and not model[0]._forward_pre_hooks


def test_a_model_that_fails_leaves_no_hooks():
    model = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.summary(model, (1, 3))
    assert not model._forward_hooks and model.training
    with pytest.raises(ValueError, match="needs either input_size or input_data"):
        torch.summary(model)


def edges(text):
    names = dict(line.strip().split(" [label=") for line in text.splitlines() if "[label=" in line)
    names = {number: label.split('"')[1] for number, label in names.items()}
    arrows = [line.strip().split(" -> ") for line in text.splitlines() if " -> " in line]
    return {(names[a], names[b]) for a, b in arrows}


def test_a_graph_leads_from_leaves_to_results():
    layer = nn.Linear(2, 3)
    hidden = layer(torch.ones(1, 2))
    text = dot(hidden.relu(), hidden, params=layer.named_parameters(), rankdir="LR")
    assert edges(text) == {
        ("weight\\n(3, 2)", "AddmmBackward0"),
        ("bias\\n(3,)", "AddmmBackward0"),
        ("AddmmBackward0", "(1, 3)"),
        ("AddmmBackward0", "ReluBackward0"),
        ("ReluBackward0", "(1, 3)"),
    }
    assert text.startswith("digraph {\n  rankdir=LR\n") and text.endswith("}")


def test_quotes_in_names_are_escaped_and_leaves_alone_are_drawn():
    x = torch.ones(2, requires_grad=True)
    assert 'label="a\\"b\\n(2,)"' in dot(x, params={'a"b': x})
    with pytest.raises(RuntimeError, match="does not require grad"):
        dot(torch.ones(2))
