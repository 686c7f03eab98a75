"""Calls of initialisers that run with PyTorch and with torchlike."""

from typing import Any

INITIALISERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "uniform": ("uniform_", (3, 7), {"a": -1.0, "b": 2.0}),
    "normal": ("normal_", (3, 7), {"mean": 1.0, "std": 0.5}),
    "normal_few": ("normal_", (5,), {}),
    "trunc_normal": ("trunc_normal_", (40,), {"std": 0.5, "a": -0.3}),
    "trunc_normal_tail": ("trunc_normal_", (40,), {"std": 0.5, "a": 1.0, "b": 1.2}),
    "constant": ("constant_", (2, 2), {"val": 0.3}),
    "ones": ("ones_", (2,), {}),
    "zeros": ("zeros_", (2,), {}),
    "eye": ("eye_", (2, 3), {}),
    "dirac": ("dirac_", (4, 2, 3), {"groups": 2}),
    "xavier_uniform": ("xavier_uniform_", (3, 4, 2), {"gain": 2.0}),
    "xavier_normal": ("xavier_normal_", (3, 4), {}),
    "kaiming_uniform": ("kaiming_uniform_", (3, 4), {"mode": "fan_out", "nonlinearity": "relu"}),
    "kaiming_normal": ("kaiming_normal_", (3, 4), {"a": 0.2}),
    "orthogonal_wide": ("orthogonal_", (3, 5), {}),
    "orthogonal_tall": ("orthogonal_", (5, 3), {}),
    "sparse": ("sparse_", (6, 3), {"sparsity": 0.4}),
}


def fill(torch: Any, name: str) -> Any:
    """Returns the tensor of one row after its initialiser has filled it."""
    function, shape, arguments = INITIALISERS[name]
    return getattr(torch.nn.init, function)(torch.empty(shape), **arguments)
