"""Operators on an accelerator: the values and gradients recorded from PyTorch, up to the precision of the device."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.ops.samples import Call, cotangent
from tests.ops.test_catalog import ARRAYS, WORDS, make, numpy, outputs
from torchlike.dispatch.bindings import FUNCTIONS

pytestmark = pytest.mark.recorded

# Orders of summation and approximations of functions differ from a CPU's; float64 agrees to the last bits everywhere.
TOLERANCE = {
    "float32": (2e-4, 5e-5), "complex64": (2e-4, 5e-5), "float16": (4e-3, 2e-3), "bfloat16": (4e-2, 4e-3),
}  # fmt: skip


def assert_near(found: Any, wanted: np.ndarray, dtype: str, device: str) -> None:
    assert found.device.type == device
    rtol, atol = TOLERANCE.get(dtype, (1e-6, 1e-6))
    np.testing.assert_allclose(numpy(found.cpu()), wanted, rtol=rtol, atol=atol, equal_nan=True)


def test_values_and_gradients_are_near_those_of_pytorch(call: Call, device: str):
    said = WORDS[call.key]
    try:
        with torch.device(device):
            made, kwargs, inputs = make(call, grad="grads" in said)
            outs = outputs(FUNCTIONS[call.op.name](*made, **kwargs))
            if not inputs:  # only the default decides on which device it is
                device = outs[0].device.type
            for i, out in enumerate(outs):
                assert_near(out, ARRAYS[f"{call.key}/out{i}"], said["dtypes"][i], device)
            if "grads" not in said:
                return
            which = [i for i, o in enumerate(outs) if o.requires_grad]
            seeds = [
                torch.tensor(cotangent(call, i, outs[i].shape, said["dtypes"][i])).to(outs[i].dtype) for i in which
            ]
            grads = torch.autograd.grad([outs[i] for i in which], inputs, seeds, allow_unused=True)
            for i, (grad, expected) in enumerate(zip(grads, said["grads"], strict=True)):
                if expected:
                    assert_near(grad, ARRAYS[f"{call.key}/grad{i}"], call.dtype, device)
                else:
                    assert grad is None or not numpy(grad.cpu()).any()
    except NotImplementedError as error:  # it raises an error rather than compute a wrong result
        pytest.xfail(str(error))
