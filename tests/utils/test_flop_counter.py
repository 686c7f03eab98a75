"""FlopCounterMode counts what PyTorch's counts, and names the modules."""

import pytest

import torchlike as torch
from tests.utils.flops import LINES, counted
from torchlike import nn
from torchlike.engine.recorder import Recorder, recorder
from torchlike.utils.flop_counter import FlopCounterMode, register_flop_formula
from torchlike.utils.module_tracker import ModuleTracker

# PyTorch's output, with tabulate installed.
TABLE = """\
Module                           FLOP    % Total
---------------------------  --------  ---------
Net                          352.944K    100.00%
- aten.convolution           148.608K     42.11%
- aten.addmm                   0.144K      0.04%
- aten.mm                      0.288K      0.08%
- aten.convolution_backward  203.904K     57.77%
Net.body                     352.512K     99.88%
- aten.convolution           148.608K     42.11%
- aten.convolution_backward  203.904K     57.77%
Net.head                       0.432K      0.12%
- aten.addmm                   0.144K      0.04%
- aten.mm                      0.288K      0.08%
"""


@pytest.mark.parametrize("line", LINES)
def test_counts_equal_pytorchs(golden, line):
    assert counted(torch, line) == golden("flops")["counts"][line]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def test_the_table_is_pytorchs(capsys):
    torch.manual_seed(0)
    with FlopCounterMode(depth=2):
        Net()(torch.ones(6, 3, 8, 8)).sum().backward()
    assert capsys.readouterr().out == TABLE


def test_nothing_was_counted(capsys):
    with FlopCounterMode():
        pass
    assert capsys.readouterr().out.splitlines()[-1] == "Global         0         0%"


def test_a_pass_that_is_replayed_is_counted_each_time():
    layer, x = nn.Linear(3, 4), torch.ones(2, 3)
    totals = []
    for _ in range(4):
        layer.zero_grad()
        with FlopCounterMode(display=False) as counter:
            layer(x).sum().backward()
        layer.weight.grad.sum().item()
        totals.append(counter.get_total_flops())
    assert totals == [96] * 4


def test_recording_asks_nobody_after_the_context():
    with FlopCounterMode(display=False) as outer, FlopCounterMode(display=False) as inner:
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert outer.get_total_flops() == inner.get_total_flops() == 48
    assert type(recorder()) is Recorder


def test_unsupported_arguments_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        FlopCounterMode(custom_mapping={torch.add: len})
    with pytest.raises(NotImplementedError, match="register_flop_formula"):
        register_flop_formula(torch.add)


def test_the_modules_of_the_backward_pass_are_known():
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), []
    with ModuleTracker() as tracker:
        middle = model[0](torch.ones(1, 2))
        middle.register_hook(lambda _: seen.append((tracker.is_bw, sorted(tracker.parents))))
        model[1](middle).sum().backward()
        assert tracker.parents == {"Global"}
    assert seen == [(True, ["Global", "Linear"])]
