"""The signatures of functions that have several, compared with those that PyTorch lists in its errors."""

import re
from typing import Any

import pytest

from torchlike.dispatch.overloads import OF_FUNCTIONS, OF_METHODS

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


class Nothing:
    """What no parameter takes."""


def listed(function: Any) -> list[range] | None:
    """Returns the numbers of arguments of each signature, if PyTorch lists these for a call that fits none."""
    for given in ((Nothing(),), (Nothing(), Nothing()), ()):
        try:
            function(*given)
        except TypeError as error:
            if "expected one of" in str(error):
                signatures = re.findall(r"^ \* \((.*)\)$", str(error), re.MULTILINE)
                found = [
                    [p for p in re.split(r", (?![^()\[\]]*[)\]])", s) if p.strip() not in ("*", "")] for s in signatures
                ]
                return [range(sum(" = " not in p for p in ps), len(ps) + 1) for ps in found]
        except Exception:  # some functions take the object, and fail later
            continue
    return None


def function_of(name: str) -> Any:
    namespace, _, rest = name.partition("_")
    if namespace in ("linalg", "fft", "special"):
        return getattr(getattr(torch, namespace), rest)
    return getattr(torch, name, None) or getattr(torch.nn.functional, name)


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_functions(name):
    assert listed(function_of(name)) == OF_FUNCTIONS[name]


@pytest.mark.parametrize("name", OF_METHODS)
def test_methods(name):
    assert listed(getattr(torch.ones(2, 2), name)) == OF_METHODS[name]
