"""Runs one line of PyTorch code with a module that has PyTorch's names, and describes the outcome in plain values."""

import math
import re
import warnings
from typing import Any

import numpy as np

SETUP = {
    "x": lambda torch: torch.arange(24.0).reshape(2, 3, 4).clone(),
    "m": lambda torch: torch.arange(12.0).reshape(3, 4).clone(),
    "v": lambda torch: torch.tensor([3.0, 1.0, 2.0, 1.0, 5.0]),
    "i": lambda torch: torch.tensor([[5, 3, 5], [1, 4, 1]]),
    "z": lambda torch: torch.tensor(7.0),
}


def outcome(torch, code, shared=False):
    """Runs a line and describes its result or error, and the tensors that it changed.

    In a line, x (2, 3, 4), m (3, 4), v (5), i (integers, 2 by 3) and z (0-dim) are tensors. X, M, V and Z are results of an operation on a
    leaf that requires a gradient; then the outcome contains the leaf's gradient too.

    Args:
        shared: NumPy arrays share the memory of all these tensors while the line runs. The outcome must be the same.
    """
    leaves, scope = {}, {"torch": torch, "np": np, "nan": math.nan, "inf": math.inf}
    for name, make in SETUP.items():
        scope[name] = make(torch)
        if name == "i":
            continue
        leaves[name] = make(torch).requires_grad_()
        scope[name.upper()] = leaves[name] * 1
        scope[f"{name.upper()}_leaf"] = leaves[name]
    made = [*leaves.values(), *(t for t in scope.values() if isinstance(t, torch.Tensor))]
    arrays = [t.detach().numpy() for t in made] if shared else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            *statements, last = code.split("; ")
            exec("; ".join(statements), scope)
            try:
                result = eval(last, scope)
            except SyntaxError:
                exec(last, scope)
                result = None
            told = {"result": describe(torch, result), **written(torch, scope)}
            told |= gradients(torch, result, leaves, scope)
        except Exception as error:
            told = {"raises": type(error).__name__, "says": str(error)}
    del arrays
    return told


def written(torch, scope):
    """Describes the tensors of the scope that the line wrote to."""
    told: dict[str, Any] = {}
    for name, make in SETUP.items():
        for tensor in (scope[name], scope.get(name.upper())):
            if tensor is not None and (tensor._version or tensor.shape != make(torch).shape):
                state: Any = describe(torch, tensor)
                told[name if tensor is scope[name] else name.upper()] = state | {"version": tensor._version}
    return told


def describe(torch, value):
    if isinstance(value, torch.Tensor):
        told = {"dtype": str(value.dtype), "shape": list(value.shape), "values": plain(value)}
        if value.grad_fn is not None:
            told["grad_fn"] = value.grad_fn.name()
        if value._is_view():
            told |= {"stride": list(value.stride()), "offset": value.storage_offset()}
        return told
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [describe(torch, v) for v in value]
    return repr(value)


def plain(tensor):
    """Prints nested lists, so that NaN equals itself, with five digits, which do not depend on the order of summation."""

    def rounded(value):
        if isinstance(value, list):
            return [rounded(v) for v in value]
        return float(f"{value:.5g}") if isinstance(value, float) else value

    return repr(rounded(tensor.tolist()))


NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")


def adopt_near(recorded, told):
    """Returns the recorded outcome, with those numbers of ``told`` that differ from it by one in the fifth digit.

    If a number lies in the middle between two numbers of five digits, one machine rounds it up and another one down. Integers and all other
    text stay as recorded.
    """
    if isinstance(recorded, dict) and isinstance(told, dict):
        return {key: adopt_near(value, told.get(key)) for key, value in recorded.items()}
    if isinstance(recorded, list) and isinstance(told, list) and len(recorded) == len(told):
        return [*map(adopt_near, recorded, told)]
    if not isinstance(recorded, str) or not isinstance(told, str):
        return recorded
    numbers, news = NUMBER.findall(recorded), NUMBER.findall(told)
    if len(numbers) != len(news):
        return recorded
    near = iter(
        new if math.isclose(float(new), float(number), rel_tol=1.01e-4) else number
        for number, new in zip(numbers, news, strict=True)
    )
    return NUMBER.sub(lambda _: next(near), recorded)


def gradients(torch, result, leaves, scope):
    """Describes the gradients of a weighted sum of the results and of the tensors that were written to."""
    results = result if isinstance(result, (tuple, list)) else [result]
    tensors = [r for r in results if isinstance(r, torch.Tensor)]
    tensors += [scope[n] for name in leaves for n in (name, name.upper()) if scope[n]._version]
    for tensor in tensors:
        if tensor.grad_fn is None:
            continue
        weights = torch.from_numpy(np.arange(1.0, tensor.numel() + 1).reshape(tensor.shape)).to(tensor.dtype)
        try:
            tensor.backward(weights, retain_graph=True)
        except RuntimeError as error:
            return {"backward raises": str(error).partition(":")[0]}
    return {f"{name}.grad": plain(leaf.grad) for name, leaf in leaves.items() if leaf.grad is not None}
