"""``import torch`` means torchlike: what ``torchlike.alias()`` and ``python -m torchlike`` do to a process."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

__all__ = ["alias", "load_ipython_extension"]

REFUSAL = """PyTorch has been imported already in this process, from {file}, so `import torch` cannot mean torchlike here. Call \
torchlike.alias() before anything imports torch, libraries included (in a notebook: restart the kernel and begin with it), or run the \
program with `python -m torchlike`"""


def alias() -> ModuleType:
    """Makes ``import torch`` mean torchlike in this process, also where PyTorch is installed, and gives the module ``torch``.

    Programs and libraries that import PyTorch then run unchanged. The same holds in the processes that ``multiprocessing`` starts. A second
    call changes nothing. ``python -m torchlike script.py`` does this for a script.

    Raises:
        RuntimeError: PyTorch has been imported already.

    >>> import torchlike
    >>> torchlike.alias()  # doctest: +SKIP
    <module 'torch' ...>
    >>> import torch  # doctest: +SKIP
    """
    # Imported here, so that a program which never calls this does not wait for it.
    from .._missing import stand_in_by
    from ..serialization._plain_pickles import write_as_pytorch
    from .finder import Finder, Itself
    from .namespace import adopt_loaded
    from .processes import tell_children
    from .stand_ins import find

    there = sys.modules.get("torch")
    if there is not None and isinstance(getattr(there, "__loader__", None), Itself):
        return there
    if there is not None:
        raise RuntimeError(REFUSAL.format(file=getattr(there, "__file__", None)))
    ours = sys.modules[__name__.partition(".")[0]]
    torch = sys.modules["torch"] = Itself(ours).torch
    sys.meta_path.insert(0, Finder(torch))  # pyright: ignore[reportArgumentType]
    stand_in_by(find)
    adopt_loaded()
    write_as_pytorch()
    tell_children()
    _keep_jax_quiet()
    return torch


def _keep_jax_quiet() -> None:
    """Lets JAX log warnings only, unless the program has asked for more.

    ``logging.basicConfig(level=logging.DEBUG)`` would else print what JAX compiles, where a PyTorch program prints its own lines.
    """
    logger = logging.getLogger("jax")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def load_ipython_extension(ipython: object) -> None:
    """IPython calls this for ``%load_ext torchlike`` in a notebook; it calls ``torchlike.alias()``.

    >>> torch.load_ipython_extension(None)  # doctest: +SKIP
    """
    alias()
