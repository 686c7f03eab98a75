"""Every operator on the meta device returns the shapes and dtypes that PyTorch returned on the CPU."""

import pytest

import torchlike as torch
from tests.ops.test_catalog import ARRAYS, RECORDED, WORDS, make, outputs
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.utils._pytree import tree_map_only

pytestmark = pytest.mark.recorded


def test_every_op_gives_pytorchs_shapes_and_dtypes_on_meta():
    """A single test covers all operators, because nothing is computed and a call takes two milliseconds."""
    wrong = []
    for call in RECORDED:
        made, kwargs, _ = make(call)
        outs = outputs(FUNCTIONS[call.op.name](*tree_map_only(torch.Tensor, lambda t: t.to("meta"), made), **kwargs))
        # The golden file stores tensors without dimensions as arrays of one dimension.
        shapes = [out.shape or (1,) for out in outs]
        dtypes = [str(out.dtype).removeprefix("torch.") for out in outs]
        if (
            shapes != [ARRAYS[f"{call.key}/out{i}"].shape for i in range(len(outs))]
            or dtypes != WORDS[call.key]["dtypes"]
            or not (all(out.is_meta for out in outs) or not any(isinstance(given, torch.Tensor) for given in made))
        ):
            wrong.append((call.key, shapes, dtypes))
    assert not wrong
