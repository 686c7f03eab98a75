"""The package ``functorch``, which PyTorch installs beside ``torch``: the functions of ``torch.func``, and older ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import func as _func
from ..func._deprecated import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
    warn_of,
)
from ..fx.experimental.proxy_tensor import make_fx as make_fx
from ..version import __version__ as __version__


def _deprecated(name: str) -> Callable[..., Any]:
    function: Callable[..., object] = getattr(_func, name)

    @functools.wraps(function)
    def warns(*args: object, **kwargs: object) -> object:
        warn_of(name, "torch.vmap" if name == "vmap" else f"torch.func.{name}")
        return function(*args, **kwargs)

    return warns


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap = map(
    _deprecated, ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
)
