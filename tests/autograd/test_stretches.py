"""A layer called again at the same place is recorded in one step: what follows is as if it had run op by op."""

import copy
import gc
import threading
import time

import pytest

import torchlike as torch
from torchlike.autograd.stretches import Folded, Stretch
from torchlike.engine import Recorder
from torchlike.engine.recorder import _recorders

nn = torch.nn


@pytest.fixture
def replays(monkeypatch):
    """Counts the layers that were recorded in one step."""
    count = []
    replay = Stretch.replay
    monkeypatch.setattr(Stretch, "replay", lambda *args: count.append(1) or replay(*args))
    return count


def possible():
    own = torch.engine.recorder()
    return not own.op_by_op


def model(inplace=False):
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.ReLU(inplace), nn.Sequential(nn.Linear(4, 3), nn.ReLU()))


X = torch.linspace(-1, 1, 12).reshape(2, 2, 3)
Y = torch.tensor([0, 2])


def warm(net, *args, times=3):
    for _ in range(times):
        net(*args)
        torch.engine.flush()


def names(node):
    """The graph from a node on, as names."""
    return (node.name(), [None if n is None else names(n) for n, _ in node.next_functions])


@pytest.mark.parametrize("inplace", [False, True])
def test_values_gradients_and_graph_are_those_of_single_ops(replays, inplace):
    net, loss_fn = model(inplace), nn.CrossEntropyLoss()
    seen = []
    for _ in range(4):
        net.zero_grad()
        out = net(X)
        loss = loss_fn(out, Y)
        version, graph = out._version, names(loss.grad_fn)
        loss.backward()
        seen.append(([p.grad.tolist() for p in net.parameters()], out.tolist(), loss.item(), version, graph))
    assert all(s == seen[0] for s in seen[1:])
    with torch.engine.op_by_op():
        out = net(X)
        loss = loss_fn(out, Y)
        net.zero_grad()
        graph = names(loss.grad_fn)
        loss.backward()
    assert torch.allclose(out, torch.tensor(seen[0][1]), atol=1e-6)
    assert graph == seen[0][4]
    for p, known in zip(net.parameters(), seen[0][0], strict=True):
        assert torch.allclose(p.grad, torch.tensor(known), atol=1e-6)
    if possible():
        assert len(replays) >= 4


def test_a_known_pass_through_folded_nodes_is_jumped(replays):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(6):
        loss = nn.functional.mse_loss(net(X), torch.ones(2, 3))
        folded = type(loss.grad_fn.next_functions[0][0]) is Folded
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    plain = model()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    with torch.engine.op_by_op():
        for known in losses:
            loss = nn.functional.mse_loss(plain(X), torch.ones(2, 3))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            assert loss.item() == pytest.approx(known, rel=1e-5)
    if possible():
        assert folded and replays


def test_what_is_new_about_a_layer_is_seen():
    net = model()
    warm(net, X)
    before = net(X)
    net[1].weight.data.mul_(2)
    assert not torch.equal(net(X), before)
    net[1] = nn.Linear(6, 4)
    other = net(X)
    assert not torch.equal(other, before)
    net._modules["3"] = nn.Identity()
    assert net(X).shape == (2, 4)
    net[1]._parameters["bias"] = None
    assert torch.allclose(net(X), torch.relu(X.flatten(1) @ net[1].weight.T), atol=1e-6)
    net[0].start_dim = 0
    with pytest.raises(RuntimeError, match="mat1 and mat2|size mismatch"):
        net(X)[0]
    net[0].start_dim = 1
    net[2].forward = lambda x: x * 0
    assert net(X).abs().sum() == 0


def test_a_hook_on_an_inner_layer_is_called():
    net = model()
    warm(net, X)
    seen = []
    handle = net[3][1].register_forward_hook(lambda module, args, output: seen.append(tuple(output.shape)))
    net(X)
    handle.remove()
    net(X)
    assert seen == [(2, 3)]


def test_forward_replaced_for_the_class_is_called(monkeypatch):
    net = model()
    warm(net, X)
    monkeypatch.setattr(nn.ReLU, "forward", lambda self, x: x * 0)
    assert net(X).abs().sum() == 0


def test_what_wants_gradients_decides_the_graph():
    net = model()
    x = X.clone()
    warm(net, x)
    net[1].weight.requires_grad_(False)
    net(x).sum().backward()
    assert net[1].weight.grad is None and net[1].bias.grad is not None
    x.requires_grad_()
    warm(net, x)
    net(x).sum().backward()
    assert x.grad.shape == x.shape
    with torch.no_grad():
        warm(net, x)
        assert net(x).grad_fn is None
    net.requires_grad_(False)
    assert net(X.clone()).grad_fn is None


def test_errors_are_those_of_single_ops():
    net = model()
    warm(net, X)
    out = net(X)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()
    out = net(X)
    with torch.no_grad():
        net[3][0].weight.add_(1)
    with pytest.raises(
        RuntimeError, match=r"\[4, 3\].*modified by an inplace operation|modified by an inplace operation: .*\[3, 4\]"
    ):
        out.sum().backward()
    out = net(X)
    out.detach().add_(1)  # the ReLU has saved its result
    with pytest.raises(RuntimeError, match="modified by an inplace operation: .*output 0 of Relu"):
        out.sum().backward()


def test_labels_that_lie_on_the_host_are_checked_at_the_line():
    loss_fn, scores = nn.CrossEntropyLoss(), torch.zeros(2, 3, requires_grad=True)
    warm(loss_fn, scores, Y)
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        loss_fn(scores, torch.tensor([0, 7]))


def test_the_graph_can_be_used_in_every_way():
    net = model()
    warm(net, X)
    out = net(X)
    out.retain_grad()
    out.register_hook(lambda gradient: gradient * 2)
    out.sum().backward()
    assert out.grad.unique().tolist() == [2.0]
    x = X.clone().requires_grad_()
    smooth = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    warm(smooth, x)
    (first,) = torch.autograd.grad((smooth(x) ** 2).sum(), x, create_graph=True)
    first.sum().backward()
    with torch.engine.op_by_op():
        y = X.clone().requires_grad_()
        (other,) = torch.autograd.grad((smooth(y) ** 2).sum(), y, create_graph=True)
        other.sum().backward()
    assert y.grad is not None
    assert x.grad.sub(y.grad).abs().max() < 1e-6


def test_a_layer_given_twice_is_not_two_layers():
    torch.manual_seed(0)
    shared = nn.Linear(3, 3)
    tied, free = nn.Sequential(shared, nn.ReLU(), shared), nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    x = torch.ones(2, 3)
    for net in (tied, free, tied, free):
        warm(net, x)
        net.zero_grad()
        net(x).sum().backward()
        alone = copy.deepcopy(net)
        alone.zero_grad()
        with torch.engine.op_by_op():
            alone(x).sum().backward()
        for a, b in zip(net.parameters(), alone.parameters(), strict=True):
            assert torch.allclose(a.grad, b.grad, atol=1e-6)


def test_an_input_that_is_overwritten_is_overwritten_each_time():
    net = nn.Sequential(nn.ReLU(inplace=True), nn.Identity())
    for _ in range(4):
        x = torch.tensor([-1.0, 1.0])
        net(x)
        assert x.tolist() == [0.0, 1.0]
        torch.engine.flush()


def test_what_is_alive_is_what_the_graph_has_saved():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step():
        loss = nn.functional.mse_loss(net(X), torch.ones(2, 3))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(5):
        step()
    torch.engine.flush()
    before = torch.explain().compiles
    for _ in range(5):
        step()
    torch.engine.flush()
    assert torch.explain().compiles == before


def test_layers_are_known_while_another_thread_records(replays):
    """A loader's threads record too: each thread's segment is its own, and a value that crosses is finished first."""
    net, plain = model(), model()
    results, stop, wrong = [], threading.Event(), []

    def other():
        while not stop.is_set():
            x = torch.arange(6.0)
            results.append(x)  # pending, for the main thread to read
            if (x * 2 + 1).sum().item() != 36:
                wrong.append(1)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        for _ in range(20):
            net.zero_grad()
            loss = net(X).sum()
            while not results:
                time.sleep(1e-4)
            assert results.pop().sum().item() == 15
            loss.backward()
            grads = [p.grad.clone() for p in net.parameters()]
    finally:
        stop.set()
        thread.join()
    with torch.engine.op_by_op():
        plain(X).sum().backward()
    assert not wrong
    assert all(torch.allclose(g, p.grad, atol=1e-6) for g, p in zip(grads, plain.parameters(), strict=True))
    if not torch.engine.recorder().op_by_op:
        assert replays


def test_a_recorder_is_alone_again_when_the_other_threads_have_ended():
    thread = threading.Thread(target=lambda: torch.ones(2).add(1).tolist())
    thread.start()
    thread.join()
    gc.collect()
    torch.ones(2).add(1).tolist()
    assert type(torch.engine.recorder()) is Recorder or len(_recorders) > 1
