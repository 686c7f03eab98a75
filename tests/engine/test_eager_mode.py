"""A test in eager mode runs in eager mode in its own thread, in the threads that it starts and in its processes."""

import os
import threading

import torchlike as torch
from torchlike.engine import recorder


def test_each_parametrised_mode_is_active(op_by_op, request):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(recorder().op_by_op))
    thread.start()
    thread.join()
    assert recorder().op_by_op is seen[0] is op_by_op
    assert os.environ["TORCHLIKE_OP_BY_OP"] == str(int(op_by_op))
    torch.explain(reset=True)
    kept = torch.ones(3) + 1
    assert (torch.explain().segments > 0) is op_by_op
    assert kept.tolist() == [2.0] * 3
    if request.config.getoption("every_mode"):
        assert op_by_op is request.node.name.endswith("[eager]")
