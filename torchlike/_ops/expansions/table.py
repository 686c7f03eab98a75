"""How an expansion is declared, found and called.

PyTorch makes many of its public functions of several operators before a handler sees the call: ``linear`` is ``t`` and ``addmm``. The
function that does the same here is called an expansion.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..._core.modes import undispatched
from ..._core.overridable import Route
from ..._core.python_functions import FORMS_OF_OPERATORS
from ..._core.signatures import Args, Kwargs
from ..._core.tensor import Tensor
from ...ops.nn.loss import legacy_reduction
from .. import operator
from ..signatures import ALIASES, as_handed_over
from ..stand_ins import check_without_elements

__all__ = ["EXPANSIONS", "Expansion", "call_expansion", "expands", "expansion_of", "op", "operator_name"]

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_UNARY = ("__neg__", "__abs__")
_SPACES = {"torch.nn.functional": "F", "torch.Tensor": "Tensor", "torch": "torch"}
_NO_EFFECT = frozenset(("_stacklevel", "cudnn_enable", "cudnn_enabled"))


class Expansion:
    """An expansion and the names of its parameters.

    The first parameter is given by position, the others by the names that they have in the public function, defaults filled in. So an
    expansion needs no defaults of its own. What it has no parameter for it cannot compute: where the program passes such an argument, the
    public function is computed as a whole, and no handler sees it. An argument is never dropped.

    Public functions with ``*args`` do not say what they take: there the expansion's own signature decides.

    Before it is called, the public function is called with tensors that have no elements, so that a call which PyTorch refuses is refused
    with PyTorch's error. ``unchecked``: not before this one.
    """

    def __init__(self, function: Callable[..., Any], unchecked: bool) -> None:
        self.function, self.unchecked = function, unchecked
        self.signature = inspect.signature(function)
        self.takes_all = any(
            parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in self.signature.parameters.values()
        )

    def bind(self, public: inspect.Signature, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs] | None:
        """The arguments to call the expansion with; None where it has no parameter for one, or where the call is an error.

        Args:
            public: the signature of the public function.
        """
        names = public.parameters if _is_fixed(public) else self.signature.parameters
        kwargs = {
            _name_among(names, name): value for name, value in kwargs.items() if name != "out" or value is not None
        }
        try:
            if not _is_fixed(public):
                self.signature.bind(*args, **kwargs)
                return args, kwargs
            bound = public.bind(*args, **kwargs)
        except TypeError:
            return None
        bound.apply_defaults()
        arguments = bound.arguments
        size_average, reduce = arguments.pop("size_average", None), arguments.pop("reduce", None)
        if size_average is not None or reduce is not None:
            arguments["reduction"] = legacy_reduction(size_average, reduce, arguments["reduction"])
        (_, first), *others = arguments.items()
        keywords: Kwargs = {}
        for name, value in others:
            if self.takes_all or name in self.signature.parameters:
                keywords[name] = value
            elif name not in _NO_EFFECT and not _is_default(value, public.parameters[name].default):
                return None
        return (first,), keywords


def _is_default(value: object, default: object) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and not isinstance(value, Tensor) and value == default


def _is_fixed(signature: inspect.Signature) -> bool:
    return not any(parameter.kind in _VARIABLE for parameter in signature.parameters.values())


def _name_among(names: Any, name: str) -> str:
    """The parameter that a keyword is: PyTorch takes NumPy's ``axis`` for ``dim``."""
    return ALIASES.get(name, name) if name not in names and ALIASES.get(name) in names else name


EXPANSIONS: dict[str, Expansion] = {}


def expands(*names: str, unchecked: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an expansion of public functions: ``"F.linear"``, ``"Tensor.where"``, or ``"reshape"`` of every namespace."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in EXPANSIONS, name
            EXPANSIONS[name] = Expansion(function, unchecked)
        return function

    return declare


def operator_name(space: str, name: str) -> str:
    """PyTorch's name of the operator that a public function is."""
    if space in ("torch.linalg", "torch.fft", "torch.special"):
        return f"{space.rpartition('.')[2]}_{name}"
    return FORMS_OF_OPERATORS.get(name, name) if name.startswith("__i") or name in _UNARY else name


def expansion_of(space: str, name: str) -> Expansion | None:
    """The expansion of a public function; None where the function is one operator."""
    own = EXPANSIONS.get(f"{_SPACES.get(space)}.{name}")
    return EXPANSIONS.get(operator_name(space, name)) if own is None else own


def call_expansion(expansion: Expansion, route: Route, args: Args, kwargs: Kwargs) -> Any:
    """Calls the expansion of a public function, or the function as a whole where the expansion does not know an argument."""
    if route.parameters is None:
        route.parameters = inspect.signature(route.original)
    bound = expansion.bind(route.parameters, args, kwargs)
    if bound is None:
        with undispatched():
            return route.original(*args, **kwargs)
    if not expansion.unchecked:
        check_without_elements(route.original, args, kwargs)
    return expansion.function(*bound[0], **bound[1])


def op(name: str, overload: str = "default") -> Callable[..., Any]:
    """An operator to be called with arguments as PyTorch hands them over: see ``as_handed_over``."""
    function = operator(name, overload)
    schema = None if function._signature is None else function._signature.schema

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(args if schema is None else as_handed_over(schema, args)), **kwargs)

    return call
