"""Records PyTorch's results for every call that the op declarations name: values, dtypes, gradients, names of grad_fn.

`tests/ops/samples.py` makes the calls from the samples in the declarations.
"""

import warnings
from typing import Any

import numpy as np
import torch

import torchlike as ours
from tests.ops.samples import CATEGORY_OF, Call, arguments, cotangent, every_call, other_calls
from torchlike.dispatch.bindings import namespaced
from torchlike.dispatch.opdef import Form


def function_of(op: Any) -> Any:
    """Returns PyTorch's function for an op, or the method if it has no function; None if it has neither."""
    if Form.FUNCTION in op.forms:
        return getattr(torch, op.name, None)
    if Form.METHOD in op.forms:
        return getattr(torch.Tensor, op.name, None)
    if namespaced(op.name):
        namespace, _, name = op.name.partition("_")
        return getattr(getattr(torch, namespace), name, None)
    return getattr(torch.nn.functional, op.name, None)


def theirs(value: Any) -> Any:
    """Converts an argument for PyTorch: our dtypes become its own."""
    if isinstance(value, ours.dtype):
        return getattr(torch, value.name)
    if isinstance(value, (tuple, list)):
        return type(value)(theirs(v) for v in value)
    return value


def tensor(array: np.ndarray, dtype: str | None) -> torch.Tensor:
    made = torch.from_numpy(np.array(array))
    return made if dtype is None else made.to(getattr(torch, dtype))


def numpy(t: torch.Tensor) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg()
    return (t.float() if t.dtype is torch.bfloat16 else t).numpy(force=True)


def record(call: Call, arrays: dict[str, np.ndarray], words: dict[str, Any], differentiate: bool = True) -> None:
    """Records a call: `arrays` gets results and gradients, `words` dtypes, which inputs have a gradient, and the node's name."""
    given, kwargs, roles = arguments(call)
    made: list[Any] = []
    inputs: list[torch.Tensor] = []
    wants = differentiate and CATEGORY_OF[call.dtype] in ("float", "complex") and call.op.has_derivative
    for value, role in zip(given, roles, strict=True):
        if role == "l":
            made.append([tensor(v, call.dtype).requires_grad_(wants) for v in value])
            inputs += made[-1]
        elif role == "j":
            made.append([tensor(v, None) for v in value])
        elif role == "t":
            made.append(tensor(value, call.dtype).requires_grad_(wants))
            inputs.append(made[-1])
        else:
            made.append(tensor(value, None) if role == "i" else theirs(value))
    torch.manual_seed(0)
    result = function_of(call.op)(*made, **{k: theirs(v) for k, v in kwargs.items()})
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    said: dict[str, Any] = {"dtypes": [str(o.dtype).removeprefix("torch.") for o in outs]}
    for i, out in enumerate(outs):
        arrays[f"{call.key}/out{i}"] = numpy(out)
    differentiable = [i for i, o in enumerate(outs) if o.requires_grad]
    node = outs[differentiable[0]].grad_fn if differentiable else None
    said["grad_fn"] = None if node is None else node.name()
    if differentiable:
        seeds = [
            tensor(cotangent(call, i, tuple(outs[i].shape), said["dtypes"][i]), said["dtypes"][i])
            for i in differentiable
        ]
        grads = torch.autograd.grad([outs[i] for i in differentiable], inputs, seeds, allow_unused=True)
        said["grads"] = [g is not None for g in grads]
        for i, g in enumerate(grads):
            if g is not None:
                arrays[f"{call.key}/grad{i}"] = numpy(g)
    words[call.key] = said


def everything() -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, str]]:
    """Returns results and gradients, their descriptions, and the calls for which PyTorch has no function."""
    arrays: dict[str, np.ndarray] = {}
    words: dict[str, Any] = {"torch": torch.__version__}
    left_out: dict[str, str] = {}
    refused: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in [*every_call(), *other_calls()]:
            if call.op.name.startswith("_"):
                continue
            if function_of(call.op) is None:
                left_out[call.key] = "PyTorch has no function of this name"
                continue
            try:
                record(call, arrays, words)
            except Exception as error:
                if "does not support automatic differentiation" in str(error):
                    record(call, arrays, words, differentiate=False)
                    continue
                refused[call.key] = [type(error).__name__, str(error)]
    words["refused"] = refused
    return arrays, words, left_out
