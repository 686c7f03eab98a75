"""A reader for untrusted pickles. It calls only functions that are allowed."""

from __future__ import annotations

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from .._core.tensor import Tensor
from ._bounds import MOST_MARKS, Budget, described
from ._names import Global, as_storage_class
from ._rebuild import missing_kind
from ._safe import lookup, users

PROMISE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only "
    "if you got the file from a trusted source."
)
_MORE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


def unsafe_pickle(why: str) -> UnpicklingError:
    """The error, with PyTorch's text, for a pickle that uses something that files of weights do not need."""
    return UnpicklingError(
        f"Weights only load failed. {PROMISE}\nPlease file an issue with the following so that we can make `weights_only=True` "
        f"compatible with your use case: WeightsUnpickler error: \n\n{why}{_MORE}"
    )


def _not_allowed(name: str) -> UnpicklingError:
    return UnpicklingError(
        "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
        f"trust the source of the checkpoint\033[0m. \n\t(1) {PROMISE}\n\t(2) Alternatively, to load with `weights_only=True` please "
        f"check the recommended steps in the following error message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL {name} was "
        f"not an allowed global by default. Please use `torch.serialization.add_safe_globals([{name}])` or the "
        f"`torch.serialization.safe_globals([{name}])` context manager to allowlist this global if you trust this class/function.{_MORE}"
    )


def _blocked(module: str, name: str) -> UnpicklingError:
    return UnpicklingError(
        f"Weights only load failed. {PROMISE}\n\n\nTrying to load unsupported GLOBAL {module}.{name} whose module {module} is "
        f"blocked.{_MORE}"
    )


def todays(module: str, name: str) -> tuple[str, str]:
    """Python 3's module and name for those of Python 2, which protocol 2 writes."""
    module, name = NAME_MAPPING.get((module, name), (module, name))
    return IMPORT_MAPPING.get(module, module), name


def global_text(module: str, name: str) -> str:
    """A name from the file, for a message."""
    return name if module == "builtins" else f"{module}.{name}"


class SafeUnpickler:
    """Reads one pickle from a file, opcode by opcode.

    Args:
        file: a file open for reading. Its position is behind the pickle afterwards.
        persistent: converts the pickle's description of a storage.
        encoding: the encoding of text from Python 2.
    """

    def __init__(self, file: Any, persistent: Callable[[tuple[Any, ...]], Any], *, encoding: str = "utf-8") -> None:
        start = file.tell()
        self.budget = Budget(lambda: file.tell() - start)
        self._read_some = file.read
        self._read_a_line = file.readline
        self.persistent = persistent
        self.encoding = encoding
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []  # the stacks below each mark
        self.memo: dict[int, object] = {}
        self.users = users()
        self.by_id: dict[int, object] = {}  # the ids of objects that came in by name: only they may be called

    def load(self) -> Any:
        """The object.

        Raises:
            EOFError: the file ends before the pickle does. UnpicklingError: it does what is not allowed, or is no valid pickle.
        """
        try:
            while True:
                code = self.read(1)[0]
                if code == pickle.STOP[0]:
                    return self.stack.pop()
                step = _STEPS.get(code)
                if step is None:
                    raise unsafe_pickle(f"Unsupported operand {code}")
                step(self)
        except (
            IndexError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            AssertionError,
            OverflowError,
            RecursionError,
            struct.error,
        ) as error:
            raise unsafe_pickle(
                f"the pickle makes no sense ({type(error).__name__}: {error}): the file might be corrupted"
            ) from error

    def read(self, count: int) -> bytes:
        data = self._read_some(count)
        if len(data) < count:
            raise EOFError("Ran out of input: the file ends in the middle of a pickle and might be corrupted")
        return data

    def line(self) -> str:
        line = self._read_a_line()
        if not line.endswith(b"\n"):
            raise EOFError("Ran out of input: the file ends in the middle of a pickle and might be corrupted")
        return line[:-1].decode("utf-8")

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.read(struct.calcsize(form)))[0]

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    # ---- what a pickle may do

    def named(self, module: str, name: str) -> Any:
        """The object that a name means."""
        module, name = todays(module, name)
        try:
            value = lookup(module, name, self.users)
        except PermissionError:
            raise _blocked(module, name) from None
        except KeyError:
            error = missing_kind(module, name)
            if error is not None:
                raise error from None
            raise _not_allowed(global_text(module, name)) from None
        self.by_id[id(value)] = value
        return value

    def call(self, function: Any, arguments: Any) -> Any:
        if id(function) not in self.by_id:
            raise unsafe_pickle(f"Trying to call reduce for unrecognized function {described(function)}")
        self.budget.arguments(arguments)
        if function in (set, Counter, OrderedDict):
            self.budget.keys(function is OrderedDict, arguments)
        if function is Tensor or isinstance(function, Global):
            raise TypeError(f"{function} is not to be called by a file")
        return function(*arguments)

    def new(self, kind: Any, arguments: Any) -> type:
        if id(kind) not in self.by_id:
            raise unsafe_pickle(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{described(kind)}"
            )
        self.budget.arguments(arguments)
        if kind is Tensor or not isinstance(kind, type):
            raise TypeError(f"{kind} is not to be made by a file")
        return kind.__new__(kind, *arguments)

    def build(self, obj: Any, state: object) -> None:
        kind = type(obj)
        if kind is OrderedDict:
            obj.__dict__.update(_attributes(state))
        elif any(kind is user_class for user_class in self.users.values()):
            _set_state(obj, state)
        else:
            raise unsafe_pickle(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}"
            )

    def append(self, to: Any, items: list[Any], word: str) -> None:
        if type(to) is not list:
            raise unsafe_pickle(f"Can only {word} lists, but got {type(to)}")
        to.extend(items)

    def set_items(self, of: Any, items: list[Any], word: str) -> None:
        if type(of) not in (dict, OrderedDict, Counter) and not any(
            type(of) is user_class for user_class in self.users.values()
        ):
            raise unsafe_pickle(
                f"Can only {word} for dict, collections.OrderedDict, collections.Counter, but got {type(of)}"
            )
        for position in range(0, len(items), 2):
            self.budget.key(items[position])
            of[items[position]] = items[position + 1]

    def storage(self, mentioned: object) -> Any:
        """The object for a storage to which the pickle refers."""
        if type(mentioned) is not tuple:
            raise unsafe_pickle(f"saved_id must be a tuple, got {type(mentioned).__name__}")
        mentioned = as_texts(mentioned)
        kind = mentioned[0] if mentioned else None
        if kind != "storage":
            raise unsafe_pickle(
                f"Only persistent_load of storage is allowed, but got {kind if kind == 'module' else type(kind)}"
            )
        return self.persistent(_checked_storage(mentioned))


def as_texts(mention: tuple[object, ...]) -> tuple[object, ...]:
    """How a storage is mentioned, with texts for what files of Python 2 have as bytes where ``encoding="bytes"`` asks for those."""
    return tuple(part.decode("ascii", "replace") if isinstance(part, bytes) else part for part in mention)


def _checked_storage(mention: object) -> Any:
    """The description of a storage, if its key and its location are texts and its size is a number."""
    if type(mention) is tuple and mention[:1] == ("storage",):
        names, count = mention[2:4], mention[4]
        if not all(type(name) in (str, bytes, int) for name in names) or type(count) is not int:
            raise ValueError("a storage is mentioned by what is no name")
    return mention


def _attributes(state: object) -> dict[Any, Any]:
    if not isinstance(state, dict):  # dict.update accepts pairs too, whose keys have not been checked
        raise TypeError(f"attributes come in a dict, not in a {type(state).__name__}")
    return state


def _set_state(obj: Any, state: object) -> None:
    """Sets an object's state as pickle does, for an object of a class that the caller allows."""
    if hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
        return
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if plain:
        obj.__dict__.update(_attributes(plain))
    for name, value in (slots or {}).items():
        setattr(obj, name, value)


class Survey(SafeUnpickler):
    """Reads a pickle only for its references to storages: names have no meaning, and nothing is called."""

    def named(self, module: str, name: str) -> Global:
        return as_storage_class(module, name) or Global(module, name)

    def call(self, function: Any, arguments: Any) -> _UncreatedObject:
        return _UncreatedObject()

    def new(self, kind: object, arguments: Any) -> _UncreatedObject:
        return _UncreatedObject()

    def build(self, obj: Any, state: Any) -> None:
        """Does nothing: the survey needs no state."""

    def append(self, to: Any, items: list[Any], word: str) -> None:
        """Does nothing: the survey needs no contents."""

    def set_items(self, of: Any, items: list[Any], word: str) -> None:
        """Does nothing: the survey needs no contents."""

    def storage(self, mentioned: object) -> Any:
        return self.persistent(_checked_storage(mentioned))


class _UncreatedObject:
    """A stand-in for an object that is not created."""


# ---- the opcodes

_STEPS: dict[int, Callable[[SafeUnpickler], None]] = {}


def _step(*codes: bytes) -> Callable[[Callable[[SafeUnpickler], None]], Callable[[SafeUnpickler], None]]:
    def declare(function: Callable[[SafeUnpickler], None]) -> Callable[[SafeUnpickler], None]:
        for code in codes:
            _STEPS[code[0]] = function
        return function

    return declare


def _pushes(code: bytes, make_value: Callable[[SafeUnpickler], object]) -> None:
    def push(m: SafeUnpickler) -> None:
        value = make_value(m)  # first, because it may replace m.stack
        m.stack.append(value)

    _STEPS[code[0]] = push


_pushes(pickle.NONE, lambda m: None)
_pushes(pickle.NEWTRUE, lambda m: True)
_pushes(pickle.NEWFALSE, lambda m: False)
_pushes(pickle.EMPTY_TUPLE, lambda m: ())
_pushes(pickle.EMPTY_LIST, lambda m: [])
_pushes(pickle.EMPTY_DICT, lambda m: {})
_pushes(pickle.EMPTY_SET, lambda m: set())
_pushes(pickle.BININT, lambda m: m.number("<i"))
_pushes(pickle.BININT1, lambda m: m.read(1)[0])
_pushes(pickle.BININT2, lambda m: m.number("<H"))
_pushes(pickle.LONG1, lambda m: int.from_bytes(m.read(m.read(1)[0]), "little", signed=True))
_pushes(pickle.BINFLOAT, lambda m: m.number(">d"))
_pushes(pickle.BINUNICODE, lambda m: m.read(m.number("<I")).decode("utf-8", "surrogatepass"))
_pushes(pickle.SHORT_BINSTRING, lambda m: _old_text(m.read(m.read(1)[0]), m.encoding))
_pushes(pickle.GLOBAL, lambda m: m.named(m.line(), m.line()))
_pushes(pickle.BINGET, lambda m: m.memo[m.read(1)[0]])
_pushes(pickle.LONG_BINGET, lambda m: m.memo[m.number("<I")])
_pushes(pickle.BINPERSID, lambda m: m.storage(m.stack.pop()))
_pushes(pickle.TUPLE, lambda m: tuple(m.since_mark()))


def _old_text(data: bytes, encoding: str) -> Any:
    return data if encoding == "bytes" else data.decode(encoding)


@_step(pickle.PROTO)
def _protocol(m: SafeUnpickler) -> None:
    m.read(1)


@_step(pickle.MARK)
def _mark(m: SafeUnpickler) -> None:
    if len(m.marked) >= MOST_MARKS:
        raise ValueError(f"more than {MOST_MARKS} marks are open")
    m.marked.append(m.stack)
    m.stack = []


@_step(pickle.BINPUT)
def _put_memo(m: SafeUnpickler) -> None:
    m.memo[m.read(1)[0]] = m.stack[-1]


@_step(pickle.LONG_BINPUT)
def _long_put(m: SafeUnpickler) -> None:
    m.memo[m.number("<I")] = m.stack[-1]


@_step(pickle.TUPLE1)
def _tuple1(m: SafeUnpickler) -> None:
    m.stack[-1:] = [(m.stack[-1],)]


@_step(pickle.TUPLE2)
def _tuple2(m: SafeUnpickler) -> None:
    m.stack[-2:] = [(m.stack[-2], m.stack[-1])]


@_step(pickle.TUPLE3)
def _tuple3(m: SafeUnpickler) -> None:
    m.stack[-3:] = [(m.stack[-3], m.stack[-2], m.stack[-1])]


@_step(pickle.REDUCE)
def _reduce(m: SafeUnpickler) -> None:
    arguments = m.stack.pop()
    m.stack[-1] = m.call(m.stack[-1], arguments)


@_step(pickle.NEWOBJ)
def _new(m: SafeUnpickler) -> None:
    arguments = m.stack.pop()
    m.stack[-1] = m.new(m.stack[-1], arguments)


@_step(pickle.BUILD)
def _build(m: SafeUnpickler) -> None:
    state = m.stack.pop()
    m.build(m.stack[-1], state)


@_step(pickle.APPEND)
def _append(m: SafeUnpickler) -> None:
    item = m.stack.pop()
    m.append(m.stack[-1], [item], "append to")


@_step(pickle.APPENDS)
def _appends(m: SafeUnpickler) -> None:
    items = m.since_mark()
    m.append(m.stack[-1], items, "extend")


@_step(pickle.SETITEM)
def _set_item(m: SafeUnpickler) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    m.set_items(m.stack[-1], [key, value], "SETITEM")


@_step(pickle.SETITEMS)
def _set_items(m: SafeUnpickler) -> None:
    items = m.since_mark()
    m.set_items(m.stack[-1], items, "SETITEMS")
