"""The package ``functorch``, which PyTorch installs beside ``torch``: the functions of ``torch.func``, and older ones."""

from __future__ import annotations

from ..version import __version__ as __version__
from . import (
    functionalize as functionalize,
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    vjp as vjp,
    vmap as vmap,
)
from ._deprecated import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
)
