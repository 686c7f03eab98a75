"""The text of tensors, for ``repr`` and ``format``, and the printing options."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, Unpack

import numpy as np


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}

_options = _Options()


class _OptionArguments(TypedDict, total=False):
    precision: int | None
    threshold: float | None
    edgeitems: int | None
    linewidth: int | None
    profile: str | None
    sci_mode: bool | None


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed from now on, in all threads.

    Args:
        precision: digits after the point. Default 4.
        threshold: a tensor of more elements than this is printed as a summary. Default 1000.
        edgeitems: how many elements a summary keeps at each end of each dimension. Default 3.
        linewidth: characters per line. Default 80.
        profile: "default", "short" or "full": values for the four above, which explicit ones override.
            Other names change nothing, as in PyTorch.
        sci_mode: True or False fixes scientific notation; None, also when not given, lets the values decide.

    Example:
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([1.12345])
        tensor([1.12])
        >>> torch.set_printoptions(profile="default")

    Source: https://docs.pytorch.org/docs/stable/generated/torch.set_printoptions.html
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    defaults = _PROFILES.get(profile, {}) if profile is not None else {}
    for name, value in {**defaults, **{n: v for n, v in options.items() if v is not None}}.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Returns the current printing options, by name, as a dictionary that ``set_printoptions(**options)`` restores."""
    return asdict(_options)


@contextmanager
def printoptions(**options: Unpack[_OptionArguments]) -> Iterator[None]:
    """Sets printing options inside a ``with`` block; the arguments are those of ``set_printoptions``."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def format_tensor(
    array: np.ndarray,
    *,
    dtype_name: str,
    default_dtype_name: str = "float32",
    default_complex_name: str = "complex64",
    device: str = "cpu",
    requires_grad: bool = False,
    grad_fn: str | None = None,
    prefix: str = "tensor(",
    indent: int | None = None,
    parameter: bool = False,
    tangent: str | None = None,
) -> str:
    """Gives the text that PyTorch prints for a tensor.

    Args:
        array: the values, any shape; bfloat16 and float8 as their ml_dtypes type, complex32 as complex64.
        dtype_name: the tensor's dtype without "torch.", such as "float32".
        default_dtype_name: the default dtype's name; that dtype is left out of the text.
        default_complex_name: the same for complex values.
        device: the tensor's device; "cpu" is left out of the text.
        requires_grad: whether to say ``requires_grad=True``; a ``grad_fn`` takes its place.
        grad_fn: the name of the node that made the tensor, such as "AddBackward0".
        prefix: what the text begins with; for a subclass its name and "(".
        indent: the column where further lines begin; None is the prefix's length.
        parameter: whether the tensor is an ``nn.Parameter``, which has a line of its own before it.
        tangent: the text of its tangent, if it has one.
    """
    indent = len(prefix) if indent is None else indent
    body, size = _contents(array, indent)
    # The values of a tensor show whether it holds integers or Booleans. An empty one has none, so its dtype is printed.
    untold = {default_dtype_name, default_complex_name, "int64", "bool"} if array.size else {default_dtype_name}
    suffixes = []
    if device != "cpu":
        suffixes.append(f"device='{device}'")
    if size is not None:
        suffixes.append(f"size={size}")
    if dtype_name not in untold:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = append(prefix + body, suffixes, indent) + ")"
    if not parameter:
        return text
    return "Parameter containing:\n" + (text if prefix == "tensor(" else f"Parameter({text})")


def format_without_data(
    shape: tuple[int, ...],
    *,
    dtype_name: str,
    default_dtype_name: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
) -> str:
    """Gives the text that PyTorch prints for a tensor on the meta device, which has no elements to show."""
    suffixes = ["device='meta'", f"size={tuple(shape)}"]
    if dtype_name != default_dtype_name:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return append("tensor(...", suffixes, len("tensor(")) + ")"


def format_item(tensor: Any, spec: str, *, plain: bool = True) -> str:
    """Gives ``format(tensor, spec)``: that of the number in a 0-d tensor, and of any object otherwise.

    Args:
        tensor: what is formatted; it needs ``dim()`` and ``item()``.
        spec: the part after the colon in ``f"{t:.3f}"``.
        plain: whether the tensor is of class Tensor itself; PyTorch does not take the number out of subclasses.

    Raises:
        TypeError: ``spec`` is not empty and the tensor is not a plain 0-d one.
    """
    if plain and tensor.dim() == 0:
        return format(tensor.item(), spec)
    return object.__format__(tensor, spec)


def _contents(array: np.ndarray, indent: int) -> tuple[str, tuple[int, ...] | None]:
    """The values as text, and the shape where that text does not show it."""
    if array.size == 0:
        return "[]", array.shape if array.ndim != 1 else None
    edge = _options.edgeitems
    size = array.shape if edge == 0 else None
    abbreviated = tuple(array.size > _options.threshold and length > 2 * edge for length in array.shape)
    if any(abbreviated) and edge == 0:
        return "[...]", size
    if any(abbreviated):
        ends = np.r_[0:edge, -edge:0]
        array = array[
            np.ix_(*(ends if short else np.arange(n) for short, n in zip(abbreviated, array.shape, strict=True)))
        ]
    cell, width = _cell_format(array)
    return _layout(array.tolist(), abbreviated, cell, width, indent), size


def _layout(values: Any, abbreviated: tuple[bool, ...], cell: Callable[..., str], width: int, indent: int) -> str:
    """Nested brackets around ``values``, with dots where a dimension was cut."""
    if not abbreviated:
        return cell(values)
    if len(abbreviated) == 1:
        cells = [cell(value) for value in values]
        if abbreviated[0]:
            cells.insert(_options.edgeitems, " ...")
        per_line = max(1, int((_options.linewidth - indent) // (width + 2)))  # 2 for ", "
        rows = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
    else:
        rows = [_layout(value, abbreviated[1:], cell, width, indent + 1) for value in values]
        if abbreviated[0]:
            rows.insert(_options.edgeitems, "...")
    newlines = "\n" * max(1, len(abbreviated) - 1)  # blank lines set the blocks of higher dimensions apart
    return "[" + ("," + newlines + " " * (indent + 1)).join(rows) + "]"


def _cell_format(values: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """How one of ``values`` is written, padded so that columns align, and the room it takes."""
    if values.dtype.kind != "c":
        write, width = _number_format(values)
        return lambda value: write(value).rjust(width), width
    # Each part chooses its own notation; only the real part is padded.
    write_real, real_width = _number_format(np.real(values))
    write_imag, imag_width = _number_format(np.imag(values))

    def cell(value: complex) -> str:
        imag = write_imag(value.imag)
        sign = "" if imag.startswith("-") else "+"
        return f"{write_real(value.real).rjust(real_width)}{sign}{imag}j"

    return cell, real_width + imag_width + 1


def _number_format(values: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """How a real number among ``values`` is written, and the width of the column."""
    if values.dtype.kind in "biu":
        return str, max(len(str(values.min())), len(str(values.max())))
    values = values.astype(np.float64)
    deciding = values[np.isfinite(values) & (values != 0)]
    if not deciding.size:
        return _write_whole, 1  # PyTorch does not align zeros, infinities and NaN that stand alone
    write = _notation(deciding)
    # Among numbers of one sign the longest text is that of the largest or of the smallest (a long exponent).
    signed = (deciding[deciding > 0], deciding[deciding < 0])
    extremes = [float(end) for part in signed if part.size for end in (part.min(), part.max())]
    return write, max(len(write(value)) for value in extremes)


def _notation(deciding: np.ndarray) -> Callable[[float], str]:
    """Whole, fixed or scientific: the notation that suits these non-zero finite float64 numbers."""
    magnitudes = np.abs(deciding)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    all_integral = bool((deciding == np.floor(deciding)).all())
    scientific = _options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
    if all_integral and not scientific:
        return _write_whole
    spec = f".{_options.precision}{'e' if scientific else 'f'}"
    return lambda value: format(value, spec)


def _write_whole(value: float) -> str:
    text = format(value, ".0f")
    return text if text.endswith(("inf", "nan")) else text + "."


def append(text: str, suffixes: list[str], indent: int, *, below: bool = False) -> str:
    """Adds the keyword arguments, on a line of their own where the last line is full. ``below``: the first always."""
    if below:
        text += ",\n" + " " * indent + suffixes[0]
        return _append(text, suffixes[1:], indent, indent + len(suffixes[0]))
    column = len(text) - text.rfind("\n") + 1  # PyTorch counts two more than there are, on lines of values only
    return _append(text, suffixes, indent, column)


def _append(text: str, suffixes: list[str], indent: int, column: int) -> str:
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text
