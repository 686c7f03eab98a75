"""Programs of JAX without torchlike's own primitives, so that other programs can read and run them; and where their equations are from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
from jax import Array, lax
from jax._src import source_info_util
from jax._src.interpreters.partial_eval import dce_jaxpr
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, Var

from ..engine.geometry import Geometry
from ..numerics import attention, convolution, lstm, matmul_precision, pooling, product
from ..numerics.convolution_ways import by_xla as convolve_by_xla
from ..numerics.half_precision import in_float32, widened

__all__ = ["PLAIN", "evaluate", "line_of", "plain", "without_dead_code"]

_OWN = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (os.path.dirname(__file__), jax.__file__))


def _convolve(first: Array, second: Array, *, geometry: Geometry, wide: bool) -> Array:
    """Padding behind as in front, where that gives the same: with a stride, what fits exactly depends on the size."""
    if geometry.result == "y":
        pads = list(zip(geometry.before, geometry.after, strict=True))
        ways = zip(
            pads, geometry.x[2:], geometry.w[2:], geometry.stride, geometry.dilation, geometry.y[2:], strict=True
        )
        pads = [
            (low, low) if (n + 2 * low - d * (k - 1) - 1) // s + 1 == m else (low, high)
            for (low, high), n, k, s, d, m in ways
        ]
        spec = lax.ConvDimensionNumbers(*((0, 1, *range(2, first.ndim)),) * 3)
        precision = matmul_precision.precision()

        def way(x: Array, w: Array) -> Array:
            return lax.conv_general_dilated(
                x, w, geometry.stride, pads, None, geometry.dilation, spec,
                feature_group_count=geometry.groups, precision=precision,
            )  # fmt: skip

        return way(widened(first), widened(second)) if wide else in_float32(way)(first, second)
    return convolve_by_xla(first, second, geometry, wide)


# For each primitive of torchlike's that a program may hold, a function that computes the same by JAX's own.
PLAIN: dict[Primitive, Callable[..., object]] = {
    product.product_p: product.by_xla,
    convolution.convolution_p: _convolve,
    lstm.lstm_p: lambda *operands, of: lstm.by_scan(of, *operands),
    attention.forward_p: attention.plain,
    attention.tangent_p: attention._tangent,
    attention.gradients_p: attention._gradients,
    pooling.picked_p: pooling.by_places,
    pooling.spread_p: pooling.spread_by_places,
}
# Calls, which become a part of what calls them.
_CALLS = frozenset(
    ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat2")
)

Bind = Callable[[JaxprEqn, Sequence[object]], object]


def _under(equation: JaxprEqn, caller: object = None) -> AbstractContextManager[None]:
    """A context in which equations count as of the line and operation of this one."""
    source = equation.source_info
    stack = source_info_util.current_name_stack() + source.name_stack
    return source_info_util.user_context(caller or source.traceback, name_stack=stack)


def bind_under(equation: JaxprEqn, bind: Bind, operands: Sequence[object], caller: object = None) -> Sequence[object]:
    """The results of an equation. What ``bind`` computes counts as of its line and operation."""
    with _under(equation, caller):
        outs = bind(equation, operands)
    return outs if equation.primitive.multiple_results else [outs]  # pyright: ignore[reportReturnType]


def evaluate(
    jaxpr: Jaxpr, consts: Sequence[object], args: Sequence[object], bind: Bind, caller: object = None
) -> list[object]:
    """The results of a program, each equation of which ``bind`` computes from its operands. Calls are taken apart."""
    values = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))

    def read(atom: Var | Literal) -> object:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        called = called_by(equation)
        if called is not None:  # its equations count as of the line that calls it
            with _under(equation):
                outs = evaluate(called.jaxpr, called.consts, operands, bind, equation.source_info.traceback)
        else:
            outs = bind_under(equation, bind, operands, caller)
        values.update(zip(equation.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def called_by(equation: JaxprEqn) -> ClosedJaxpr | None:
    """What an equation calls, if it is a call."""
    if equation.primitive.name not in _CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        found = equation.params.get(name)
        if found is not None:
            return found if isinstance(found, ClosedJaxpr) else ClosedJaxpr(found, ())
    return None


def plain(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same program made of JAX's own primitives, without calls and without what no result needs."""
    specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in closed.in_avals]
    made = jax.make_jaxpr(lambda *args: evaluate(closed.jaxpr, closed.consts, args, _bind_plain))(*specs)
    if any(equation.primitive in PLAIN or called_by(equation) is not None for equation in made.eqns):
        return plain(made)  # a plain form calls others
    return without_dead_code(made)


def _bind_plain(equation: JaxprEqn, operands: Sequence[Any]) -> Any:
    params = dict(equation.params)
    if equation.primitive.name == "scan" and params["reverse"]:  # ONNX's loops run forwards
        given = params["num_consts"] + params["num_carry"]
        turned = [*operands[:given], *[lax.rev(each, (0,)) for each in operands[given:]]]
        outs = _bind_plain(equation.replace(params=params | {"reverse": False}), turned)
        return [*outs[: params["num_carry"]], *[lax.rev(each, (0,)) for each in outs[params["num_carry"] :]]]
    if equation.primitive in PLAIN:
        return PLAIN[equation.primitive](*operands, **params)
    for name, value in params.items():
        if isinstance(value, ClosedJaxpr):
            params[name] = plain(value)
        elif isinstance(value, tuple) and value and all(isinstance(each, ClosedJaxpr) for each in value):
            params[name] = tuple(plain(each) for each in value)
    return equation.primitive.bind(*operands, **params)


def without_dead_code(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program without what no result needs. All inputs remain."""
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    atoms = [atom for equation in jaxpr.eqns for atom in equation.invars] + list(jaxpr.outvars)
    read = {atom for atom in atoms if not isinstance(atom, Literal)}
    kept = [each for each in zip(jaxpr.constvars, closed.consts, strict=True) if each[0] in read]
    return ClosedJaxpr(jaxpr.replace(constvars=[variable for variable, _ in kept]), [const for _, const in kept])


def line_of(equation: Any) -> str:
    """Which operation of a module an equation comes from, and the line of the program that called it, in words for an error."""
    source = equation.source_info
    operation = str(source.name_stack).rpartition("/")[2] or str(equation.primitive)
    for frame in source.traceback.frames if source.traceback else ():
        if not frame.file_name.startswith(_OWN) and not frame.file_name.startswith("<"):
            return f"{operation} ({frame.file_name}:{frame.line_num})"
    return operation
