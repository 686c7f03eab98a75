"""State of another shape than its parameter's, from a checkpoint of another model, is refused, and so are options of another algorithm."""

import pytest

import torchlike as torch
from torchlike import nn, optim

MAKERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": optim.Adam,
    "AMSGrad": lambda p: optim.Adam(p, amsgrad=True),
    "AdamW": optim.AdamW,
    "NAdam": optim.NAdam,
    "RAdam": optim.RAdam,
    "Adamax": optim.Adamax,
    "Adagrad": optim.Adagrad,
    "Adadelta": optim.Adadelta,
    "RMSprop": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
    "Muon": optim.Muon,
    "Adafactor": optim.Adafactor,
}
WIDER = "output with shape [1, 3] doesn't match the broadcast shape [4, 3]"
OTHER = "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0"
ROWS = [(1, 4, WIDER), (4, 1, WIDER), (2, 4, OTHER)]


@pytest.mark.parametrize(("saved", "wanted", "words"), ROWS, ids=["narrower", "wider", "neither"])
@pytest.mark.parametrize("name", MAKERS)
def test_state_of_another_width_is_refused(name, saved, wanted, words):
    x = torch.linspace(-1, 1, 12).view(4, 3)
    former, model = (nn.Linear(3, width, bias=name != "Muon") for width in (saved, wanted))
    optimizer = MAKERS[name](former.parameters())
    former(x).sum().backward()
    optimizer.step()
    resumed = MAKERS[name](model.parameters())
    resumed.load_state_dict(optimizer.state_dict())
    before = model.weight.tolist()
    model(x).pow(2).sum().backward()
    if name == "Adafactor" and (saved, wanted) == (1, 4):
        words = "output with shape [1, 1] doesn't match the broadcast shape [4, 1]"
    with pytest.raises(RuntimeError) as caught:
        resumed.step()
    assert str(caught.value) == words
    assert model.weight.tolist() == before


@pytest.mark.parametrize(
    ("kind", "other", "missing"),
    [
        (optim.SGD, optim.RMSprop, "dampening"),
        (optim.RMSprop, optim.Adamax, "alpha"),
        (optim.Adadelta, optim.Adamax, "rho"),
    ],
)
def test_a_step_with_the_options_of_another_algorithm_names_what_is_missing(kind, other, missing):
    parameter = nn.Parameter(torch.ones(2))
    optimizer = kind([parameter], lr=0.1)
    optimizer.load_state_dict(other([parameter]).state_dict())
    parameter.grad = torch.ones(2)
    with pytest.raises(KeyError, match=missing):
        optimizer.step()
    assert parameter.tolist() == [1.0, 1.0]
