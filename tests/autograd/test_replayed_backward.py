"""A backward pass that was recorded before is replayed, unless something in it is new."""

import pytest

import torchlike as torch
from torchlike.autograd.replayed_backward import ReplayedBackward
from torchlike.engine import Recorder
from torchlike.engine.recorder import forget


def test_what_is_new_about_a_known_pass_is_seen(monkeypatch):
    forget()  # earlier tests may have shown that sizes vary here, and then the pass is not recorded as one
    replayed = []
    replay = ReplayedBackward.replay
    monkeypatch.setattr(
        ReplayedBackward, "replay", lambda self, keep: replayed.append(replay(self, keep)) or replayed[-1]
    )
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def forward():
        x.grad = None
        y = x * 3
        return y, (y * y).sum()

    for _ in range(4):
        forward()[1].backward()
        assert x.grad.tolist() == [18.0, 36.0]
    if type(torch.engine.recorder()) is Recorder and not torch.engine.recorder().op_by_op:  # a single thread
        assert replayed[-1]
    y, loss = forward()
    y.register_hook(lambda gradient: gradient * 2)
    loss.backward()
    assert x.grad.tolist() == [36.0, 72.0]
    y, loss = forward()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    other = torch.tensor([5.0, 5.0])
    forward()[1].backward()
    torch.engine.flush()
    y, loss = forward()
    y.detach().copy_(other)  # records nothing, so that the trace is at the known position
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    torch.engine.flush()
    loss = forward()[1]
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
