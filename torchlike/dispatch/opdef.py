"""The classes that declarations are made of: ops, composites of ops, and the sample calls of the tests."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jax import Array

from .._core import dtypes
from ..engine.disk.coded import name_in_package
from .arguments import Parameters
from .out_dtypes import OutDtype

__all__ = [
    "CATALOG", "COMPOSITES", "Autocast", "AutocastRule", "Category", "Composite", "DtypeRule", "Form", "Indices", "Number", "Op", "Operand",
    "Promote", "Sample", "Saves", "Validation", "ValueCheck",
    "declarations",
]  # fmt: skip

# The annotations of a ``compute`` function's parameters tell the dispatcher what to do with each:
Operand: TypeAlias = Array  # a tensor or a Python number; takes part in promotion and arrives as an array
Indices: TypeAlias = Array  # a tensor that takes no part in promotion
# A Python number that arrives as one, or as a 0-d array if it changes from call to call.
Number: TypeAlias = complex | Array
# ``Array`` is a tensor that takes part in promotion, ``list[Array]`` several of them; STATIC_KINDS are not computed with.

OPERAND, INDICES, NUMBER, STATIC = range(4)
ROLES = {
    "Array": OPERAND,
    "Array | None": OPERAND,
    "list[Array]": OPERAND,
    "Operand": OPERAND,
    "Operand | None": OPERAND,
    "Indices": INDICES,
    "Indices | None": INDICES,
    "list[Indices]": INDICES,
    "Number": NUMBER,
    "Number | None": NUMBER,
}
STATIC_KINDS = {
    "Any", "object", "bool", "int", "float", "str", "None", "Dims", "Sequence[int]", "IntOrInts", "Pair", "tuple[int, ...]",
    "tuple[tuple[int, int], ...]",
    "Dtype", "DeviceLike", "Layout", "MemoryFormat", "Placement", "Plan",
}  # fmt: skip


def role_of(name: str, annotation: object) -> int:
    """What the dispatcher does with a parameter of a ``compute`` function.

    Raises:
        TypeError: the annotation has no role. Without this check, a tensor would be taken for a static argument.
    """
    if not isinstance(annotation, str):
        raise TypeError(
            f"parameter {name!r} has no annotation as text: a file with ops begins with `from __future__ import annotations`"
        )
    role = ROLES.get(annotation)
    if role is not None:
        return role
    if STATIC_KINDS.issuperset(annotation.split(" | ")):
        return STATIC
    raise TypeError(
        f"parameter {name!r} has the unknown annotation {annotation!r}: tensors and numbers are {', '.join(ROLES)}; what is static is of "
        + ", ".join(sorted(STATIC_KINDS))
    )


def _check_words(label: str, words: Any, vocabulary: tuple[str, ...]) -> None:
    unknown = sorted(set(words).difference(vocabulary))
    if unknown:
        raise ValueError(f"unknown {label} {', '.join(map(repr, unknown))}: there are {', '.join(vocabulary)}")


class Promote(enum.Enum):
    """Which dtype an op computes in, and which its result has: PyTorch's kinds, under PyTorch's names."""

    NONE = "every input keeps its dtype"
    DEFAULT = "the common dtype of the inputs"
    INT_TO_FLOAT = "the common dtype; integers and bool become the default float"
    ALWAYS_BOOL = "computes in the common dtype, the result is bool"
    COMPLEX_TO_FLOAT = "the common dtype; the result of complex inputs is real"
    BOOL_TO_LONG = "the common dtype; bool becomes int64"
    # of reductions
    REDUCE_SAME = "the input's dtype, or the one given as dtype="
    REDUCE_INT_TO_LONG = "integers and bool become int64, or the dtype given as dtype="
    REDUCE_FLOAT = "the input must be floating point or complex, or dtype= is"

    @property
    def elementwise(self) -> bool:
        return self in _ELEMENTWISE


_ELEMENTWISE = {
    Promote.DEFAULT,
    Promote.INT_TO_FLOAT,
    Promote.ALWAYS_BOOL,
    Promote.COMPLEX_TO_FLOAT,
    Promote.BOOL_TO_LONG,
}


class Autocast(enum.Enum):
    """What autocast does with the floating-point tensors that an op is given. An op that says nothing takes them as they are."""

    LOWER = "they become the half type"
    FLOAT32 = "those of a half type become float32"
    PROMOTE = "they become the widest type among them"
    UNSAFE = "it refuses"
    KEEP = "they stay as they are, for the ops of a composite too"


# For one type of device: a rule, a function from the call's arguments to a rule, or None.
AutocastRule: TypeAlias = "Autocast | Callable[..., Autocast | None] | None"
DEVICES = ("cpu", "cuda")  # those with an autocast


class Form(enum.Flag):
    """The public forms of an op or composite: PyTorch's. They are declared, since PyTorch's choice follows no rule."""

    NONE = 0  # other functions call it, or the file of its namespace exports it (torchlike/linalg/__init__.py)
    FUNCTION = enum.auto()  # torch.relu
    METHOD = enum.auto()  # Tensor.relu
    PROPERTY = enum.auto()  # Tensor.real
    INPLACE = enum.auto()  # Tensor.relu_
    INPLACE_FUNCTION = enum.auto()  # torch.relu_
    OUT = enum.auto()  # the function has an argument ``out``
    FUNCTIONAL = enum.auto()  # torch.nn.functional.gelu: the function itself
    INPLACE_ARGUMENT = enum.auto()  # torch.nn.functional.silu, with a further argument ``inplace``
    INPLACE_FUNCTIONAL = enum.auto()  # torch.nn.functional.elu_
    ELEMENTWISE = FUNCTION | METHOD | INPLACE | OUT
    UNARY = ELEMENTWISE | INPLACE_FUNCTION


class Category(enum.Flag):
    """The categories of dtypes that an op takes."""

    BOOL = 1 << dtypes.BOOL
    INTEGER = 1 << dtypes.INTEGER
    FLOAT = 1 << dtypes.FLOAT
    COMPLEX = 1 << dtypes.COMPLEX
    REAL = BOOL | INTEGER | FLOAT
    INEXACT = FLOAT | COMPLEX
    ALL = REAL | COMPLEX


class Saves(enum.Enum):
    """What PyTorch saves for the derivative, and so watches for writes in place."""

    INPUTS = "those inputs that the derivative reads"
    RESULT = "the result"
    NOTHING = "nothing"


def _check_type(label: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        members = f" ({', '.join(kind.__members__)})" if issubclass(kind, enum.Enum) else ""
        raise TypeError(f"{label} must be of {kind.__name__}{members}, not {value!r}")


def _check_one_of(label: str, value: object, *kinds: type, function: bool = False) -> None:
    """Raises unless the value is of one of these types, or, with ``function``, can be called."""
    if not isinstance(value, kinds) and not (function and callable(value)):
        names = " or ".join(
            ["None" if kind is type(None) else kind.__name__ for kind in kinds] + ["a function"] * function
        )
        raise TypeError(f"{label} must be {names}, not {value!r}")


def _check_forms(forms: Form) -> None:
    _check_type("forms", forms, Form)
    if Form.FUNCTIONAL in forms and Form.INPLACE_ARGUMENT in forms:
        raise ValueError("forms has FUNCTIONAL and INPLACE_ARGUMENT, which are two functions of one name")


def _check_parameters(names: object, parameters: Parameters) -> None:
    _check_type("names of parameters", names, tuple)
    _check_words("parameter", names, parameters.names)


def check_autocast(rules: Any) -> None:
    """Raises unless these are rules by type of device."""
    _check_words("device in autocast", rules, DEVICES)
    for rule in rules.values():
        if rule is not None and not isinstance(rule, Autocast) and not callable(rule):
            raise TypeError(f"a rule of autocast must be an Autocast or a function, not {rule!r}")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One call that tests make of an op: tensors by shape (filled at random) or by values, then arguments as they are.

    Args:
        shapes: of tensors in the order of the parameters, drawn from a normal distribution (integers for integer dtypes).
        values: of tensors, given as nested lists; they follow those made from ``shapes``.
        args: further positional arguments.
        kwargs: keyword arguments.
        low, high: range that random values are drawn from, uniformly, for ops with a restricted domain.
        dtypes: the dtypes the sample is for; None: all that the op accepts.
        gradient: whether the derivative is checked there by finite differences.
    """

    shapes: tuple[tuple[int, ...], ...] = ()
    values: tuple[Any, ...] = ()
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    dtypes: tuple[str, ...] | None = None
    gradient: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class DtypeRule:
    """Which dtypes an op takes, in which one it computes, and which one its result has."""

    promote: Promote | Callable[..., Promote]  # or a function from the call's arguments to it
    accepts: Category
    # The error for dtypes that PyTorch does not take. A string is the name of its kernel, for the usual message; a function from
    # (name, dtype) returns the message of a RuntimeError, or an exception, or None for the usual message.
    refuse: str | Callable[..., str | Exception | None] | None = None
    keep_scalar: tuple[str, ...] = ()  # operands whose Python numbers reach ``compute`` as Python numbers
    # Operands whose Python numbers become float32, and not the half precision of the tensors beside them.
    keep_float32: tuple[str, ...] = ()
    # Operands whose Python numbers take no part in promotion: they become numbers of the tensors' dtype.
    follow: tuple[str, ...] = ()
    # Numbers that must fit in the dtype that ``compute`` runs in. They are checked as long as they are constants.
    must_fit: tuple[str, ...] = ()
    saturate: bool = False  # in half types those of them that are too large are infinite


@dataclass(frozen=True, eq=False)
class ValueCheck:
    """A check of values, such as indices or divisors. It runs inside the compiled program, since the values are known only there."""

    find: Callable[..., Any]  # (arrays...) -> (bad, value)
    make_error: Callable[..., Exception]  # (value, *args, avals) -> the exception for a failed check
    needed: Callable[..., bool] | None = None  # (dtype, *args) -> whether this call needs the check; None: always
    # On CPUs what is recorded runs up to here, and the call raises by itself: programs catch the error to go on in another way.
    at_once: bool = False


class Reading(enum.Enum):
    """Whether PyTorch lets the inputs of an operation share memory with what the operation writes to."""

    ANYWHERE = 0  # they may: PyTorch does not check
    SAME_PLACES = 1  # an input may be the very elements that are written, but not others among them
    ELSEWHERE = 2  # no input may share an element
    FIRST = 3  # SAME_PLACES for the first input; the others are not checked
    OTHERS_ELSEWHERE = 4  # SAME_PLACES for the first input, ELSEWHERE for the others
    NUMBERS_ASIDE = 5  # ELSEWHERE for inputs that have dimensions; the others are numbers, which are read first


class Inner(enum.Enum):
    """Where the elements that are written to may share places with each other: PyTorch's rules."""

    NOWHERE = 0
    IN_WINDOWS = 1  # windows that overlap; an expanded tensor is refused
    ANYWHERE = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Validation:
    """Checks of a call before anything is recorded, besides the checks of annotations and of the dtype rule."""

    # (dtype or value of each argument) raises for a call that promotion would let pass.
    call: Callable[..., object] | None = None
    shapes: Callable[..., object] | None = None  # the same with the aval, shape and dtype, of each tensor
    inplace: Callable[..., object] | None = None  # (self, *args) raises for calls of the in-place form
    out: OutDtype | None = None  # (dtype, dtype of out) -> the error where these differ, or None: see ``out_dtypes.py``
    outs: OutDtype | None = None  # the same for one of several results
    # Whether the in-place form may write to an expanded tensor, of which ``inplace`` then warns.
    expanded: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Op:
    """The declaration of an op. Every public form of the op is derived from it."""

    compute: Callable[..., Any]  # takes and returns JAX arrays; no Tensor, no side effect
    name: str
    dtype_rule: DtypeRule
    forms: Form
    samples: tuple[Sample, ...]  # the calls that the tests make
    backward: str | Callable[..., str] | None = None  # the node's name, where ``backward_name`` cannot derive it
    # Or the names of parameters and the numbers of results; or a function of the call's arguments, avals for tensors, that returns for each
    # tensor the numbers of those for whose gradients PyTorch saves it.
    saves: Saves | tuple[str | int, ...] | Callable[..., Sequence[Collection[int]]] = Saves.INPUTS
    # Parameters for which PyTorch has no derivative: their tensors are no inputs of its node.
    constant: tuple[str, ...] = ()
    # From the call's arguments, avals for tensors, to the parameters in the order in which their leaves get gradients in PyTorch, where its
    # node has them in another order or reaches some of them through a further node.
    reaches: Callable[..., tuple[str, ...]] | None = None
    # The same for what PyTorch's node leads to, where that is other nodes: names of parameters, and tuples of the name of a node and of
    # what it leads to. None: its node leads to the parameters.
    within: Callable[..., tuple[Any, ...] | None] | None = None
    # The same for the order in which PyTorch saves the parameters, where it calls them otherwise and so has another order.
    saved_in_order: Callable[..., tuple[str, ...]] | None = None
    used_once: bool = False  # a second backward through PyTorch's node fails, although nothing is saved here
    # A string: PyTorch has no derivative under this name, and its backward pass says so ("aten::heaviside"). A function of (*args, avals)
    # returns what the backward pass says of such a call, which is empty where there is a derivative.
    differentiable: bool | str | Callable[..., str] = True
    # The parameters without a derivative, where ``differentiable`` is such a string; (): all.
    missing_for: tuple[str, ...] = ()
    # The gradient of what picks elements is no function of what it picks from: differentiated again it gives None. Of these PyTorch gives
    # zeros all the same, since the gradient is an operation of the input there.
    zero_second: bool = False
    # Whether the result is rather computed again for the backward pass than kept, on devices where that is worth it. This is for functions
    # of one tensor, element by element, that XLA keeps because they take long, and whose derivative reads that tensor in any case.
    repeatable: bool = False
    constant_results: tuple[int, ...] = ()  # the numbers of results that never require a gradient
    view: bool = False  # the result shares the input's memory; ``compute`` then runs on ``Strided`` as well
    several: bool = False  # returns a tuple whatever its length
    overlap: Reading | None = None  # with what is written in place or to ``out``; None: as ``overlap.reading`` says
    check: ValueCheck | None = None
    validation: Validation = Validation()
    # Of views that compute: (whole, part, *args) -> the whole with the part replaced.
    scatter_into_base: Callable[..., object] | None = None
    autocast: Mapping[str, AutocastRule] = field(default_factory=dict)  # by type of device
    aliases: dict[str, Form] = field(default_factory=dict)  # other public names with their forms, added by ``alias``
    parameters: Parameters = field(init=False)  # of ``compute``
    roles: tuple[int, ...] = field(init=False)  # of the parameters

    def name_on_disk(self) -> str:
        """By what its traces are found in the next process; empty unless ``compute`` is of this package's files, and of nothing else."""
        declared = CATALOG.get(self.name)
        return self.name if declared is not None and declared.compute is self.compute else name_in_package(self.compute)

    @property
    def has_derivative(self) -> bool:
        """Whether PyTorch has a derivative, of some calls at least."""
        return self.differentiable is True or callable(self.differentiable)

    def __post_init__(self) -> None:
        """Raises for unknown words and annotations, which would otherwise be ignored, or mistaken for others, without an error."""
        parameters, rule = Parameters(self.compute), self.dtype_rule
        try:
            _check_forms(self.forms)
            if not callable(rule.promote):
                _check_type("promote", rule.promote, Promote)
            _check_type("accepts", rule.accepts, Category)
            _check_type("saturate", rule.saturate, bool)
            for names in (
                rule.keep_scalar,
                rule.keep_float32,
                rule.follow,
                rule.must_fit,
                self.constant,
                self.missing_for,
            ):
                _check_parameters(names, parameters)
            if isinstance(self.saves, tuple):
                _check_parameters(tuple(each for each in self.saves if not isinstance(each, int)), parameters)
            elif not callable(self.saves):
                _check_type("saves", self.saves, Saves)
            if self.check is not None:
                _check_type("check", self.check, ValueCheck)
            _check_type("validation", self.validation, Validation)
            check_autocast(self.autocast)
            _check_one_of("refuse", rule.refuse, str, type(None), function=True)
            _check_one_of("samples", self.samples, tuple)
            for sample in self.samples:
                _check_one_of("each of samples", sample, Sample)
            _check_one_of("backward", self.backward, str, type(None), function=True)
            _check_one_of("differentiable", self.differentiable, bool, str, function=True)
            for what in ("used_once", "zero_second", "repeatable", "view", "several"):
                _check_one_of(what, getattr(self, what), bool)
            _check_one_of("constant_results", self.constant_results, tuple)
            for number in self.constant_results:
                _check_one_of("each of constant_results", number, int)
            _check_one_of("overlap", self.overlap, Reading, type(None))
            _check_one_of("scatter_into_base", self.scatter_into_base, type(None), function=True)
            roles = tuple(map(role_of, parameters.names, parameters.annotations))
        except (TypeError, ValueError) as error:
            error.args = (f"op {self.name!r}: {error}",)
            raise
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "roles", roles)

    @property
    def source(self) -> Callable[..., Any]:
        """The function under the decorator, whose signature and docstring are those of the public forms."""
        return self.compute

    @property
    def backward_name(self) -> str | Callable[..., str]:
        """``leaky_relu`` gives ``LeakyReluBackward0``."""
        return self.backward or "".join(word.capitalize() for word in self.name.split("_")) + "Backward0"


@dataclass(frozen=True, kw_only=True, eq=False)
class Composite:
    """The declaration of a plain function that calls ops. Its public forms are derived as those of ops are."""

    function: Callable[..., object]
    name: str
    forms: Form
    method: Callable[..., object] | None = None  # where the method takes its arguments in another order
    validation: Validation = Validation()
    overlap: Reading | None = None
    autocast: Mapping[str, AutocastRule] = field(default_factory=dict)
    aliases: dict[str, Form] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            _check_forms(self.forms)
            _check_type("validation", self.validation, Validation)
            check_autocast(self.autocast)
            _check_one_of("method", self.method, type(None), function=True)
            _check_one_of("overlap", self.overlap, Reading, type(None))
        except (TypeError, ValueError) as error:
            error.args = (f"{self.name!r}: {error}",)
            raise

    @property
    def source(self) -> Callable[..., Any]:
        """The function under the decorator, whose signature and docstring are those of the public forms."""
        return self.function


# By public name.
CATALOG: dict[str, Op] = {}
COMPOSITES: dict[str, Composite] = {}


def declarations() -> Iterator[tuple[str, Op | Composite, Form]]:
    """Every name that is declared, other names included, with what it is declared as and the forms that it has."""
    for record in [*CATALOG.values(), *COMPOSITES.values()]:
        for name, forms in {record.name: record.forms, **record.aliases}.items():
            yield name, record, forms
