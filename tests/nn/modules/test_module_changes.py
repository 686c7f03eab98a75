"""A module that changes between two calls uses the change in the second: no call remembers anything about a layer."""

import pytest

import torchlike as torch

nn = torch.nn


def test_a_buffer_read_in_the_round_in_which_the_layer_ran():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, seen = torch.ones(3, 2), []
    for _ in range(5):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        seen.append((model[1].num_batches_tracked * 2 + 1).item())
        assert (model[1].running_mean + 1).tolist() == [1.0, 1.0]
    assert seen == [1] * 5


def test_fast_weights_take_turns():
    model = nn.Sequential(nn.Linear(1, 1, bias=False))
    fast = [torch.tensor([[2.0]], requires_grad=True), torch.tensor([[5.0]], requires_grad=True)]
    seen = []
    for i in range(6):
        del model[0].weight
        model[0].weight = fast[i % 2].detach()
        seen.append(model(torch.ones(1, 1)).item())
    assert seen == [2.0, 5.0] * 3


def test_parameters_in_another_order_keep_their_names():
    model = nn.Sequential(nn.LayerNorm(2))
    norm = model[0]
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([2.0, 3.0]))
        norm.bias.copy_(torch.tensor([10.0, 20.0]))
    x = torch.tensor([[1.0, -1.0]])
    expected = [pytest.approx(8.0, abs=1e-4), pytest.approx(23.0, abs=1e-4)]
    for _ in range(4):
        assert model(x)[0].tolist() == [pytest.approx(12.0, abs=1e-4), pytest.approx(17.0, abs=1e-4)]
        assert model(-x)[0].tolist() == expected
        weight = norm.weight
        del norm.weight
        norm.weight = weight  # now after the bias
    assert list(dict(norm.named_parameters())) == ["bias", "weight"]


def test_the_sign_of_a_zero_is_seen():
    model = nn.Sequential(nn.Threshold(0.5, 0.0))
    x, seen = torch.zeros(1), []
    for i in range(6):
        model[0].value = -0.0 if i % 2 else 0.0
        seen.append(torch.signbit(model(x)).item())
    assert seen == [False, True] * 3


class Scaled(nn.Module):
    """A user's activation with a number, a tensor and a list as plain attributes."""

    def __init__(self):
        super().__init__()
        self.number, self.tensor, self.entries = 1.0, torch.tensor(1.0), [1.0]

    def forward(self, x):
        return x * self.number * self.tensor * self.entries[0]


@pytest.mark.parametrize("change", ["number", "tensor", "written", "entries", "forward"])
def test_attributes_of_a_users_layer(change):
    model, x = nn.Sequential(nn.Identity(), Scaled()), torch.tensor([3.0])
    for _ in range(4):
        assert model(x).item() == 3.0
    if change == "number":
        model[1].number = 2.0
    elif change == "tensor":
        model[1].tensor = torch.tensor(2.0)
    elif change == "written":
        model[1].tensor.mul_(2)
    elif change == "entries":
        model[1].entries[0] = 2.0
    else:
        model[1].forward = lambda x: x * 2
    for _ in range(3):
        assert model(x).item() == 6.0


def test_layers_hooks_and_forwards_replaced_between_calls(monkeypatch):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    x = torch.linspace(-1, 1, 12).reshape(2, 2, 3)
    for _ in range(3):
        before = model(x)
        before.tolist()
    model[1].weight.data.mul_(2)
    assert not torch.equal(model(x), before)
    model[1] = nn.Linear(6, 4)
    model._modules["3"] = nn.Identity()
    model[1]._parameters["bias"] = None
    assert torch.allclose(model(x), torch.relu(x.flatten(1) @ model[1].weight.T), atol=1e-6)
    seen = []
    handle = model[3].register_forward_hook(lambda module, args, output: seen.append(tuple(output.shape)))
    model(x)
    handle.remove()
    model(x)
    assert seen == [(2, 4)]
    model[0].start_dim = 0
    with pytest.raises(RuntimeError, match="mat1 and mat2|size mismatch"):
        model(x)[0]
    model[0].start_dim = 1
    monkeypatch.setattr(nn.ReLU, "forward", lambda self, x: x * 0)
    assert model(x).abs().sum() == 0
