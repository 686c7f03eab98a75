"""torch.distributed.elastic.multiprocessing.errors: a process tells its launcher which exception has ended it."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ...._missing import explain_missing

__all__ = ["record"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def record(fn: Callable[_Given, _Result], error_handler: object = None) -> Callable[_Given, _Result]:
    """Makes a program's main function write its exception into the file that the launcher reads, and raise it.

    Args:
        fn: the function.
        error_handler: not supported.

    Raises:
        NotImplementedError: an error handler is given.

    >>> from torchlike.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main() -> int:
    ...     return 3
    >>> main()
    3

    Source: https://docs.pytorch.org/docs/stable/elastic/errors.html
    """
    if error_handler is not None:
        raise NotImplementedError("torchlike does not support record(error_handler=...) yet")

    @wraps(fn)
    def recorded(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded


def _write(error: Exception) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    text = "".join(traceback.format_exception(error))
    extra = {"py_callstack": text, "timestamp": str(int(time.time()))}
    message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"message": message}, file)


explain_missing(__name__)
