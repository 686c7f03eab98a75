"""Transforms of functions of tensors, over JAX's: vmap, grad, vjp, jvp, Jacobians."""

from ._grad import (
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from ._modules import (
    functional_call as functional_call,
    functionalize as functionalize,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
    stack_module_state as stack_module_state,
)
from ._vmap import vmap as vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

for _name in __all__:  # where users find them
    globals()[_name].__module__ = __name__
