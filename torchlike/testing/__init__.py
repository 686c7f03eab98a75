"""torch.testing: comparing tensors, and making them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._comparison import assert_allclose as assert_allclose, assert_close as assert_close
from ._creation import make_tensor as make_tensor

for _function in (assert_allclose, assert_close, make_tensor):
    _function.__module__ = __name__

if not _TYPE_CHECKING:  # a type checker should still know which names there are

    def __getattr__(name):
        from .._missing import missing

        raise missing(__name__, name)
