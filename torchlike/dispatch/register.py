"""Declares ops: one declaration gives the function, the method, the in-place form, ``out=``, and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .bindings import composite_form, function_form, namespaced
from .opdef import (
    CATALOG,
    COMPOSITES,
    DEVICES,
    Autocast,
    AutocastRule,
    Category,
    Composite,
    DtypeRule,
    Form,
    Indices,
    Number,
    Op,
    Operand,
    Promote,
    Sample,
    Saves,
    Validation,
    ValueCheck,
)

__all__ = [
    "Autocast",
    "Category",
    "Form",
    "Indices",
    "Number",
    "Operand",
    "Promote",
    "Sample",
    "Saves",
    "Validation",
    "ValueCheck",
    "alias",
    "composite",
    "op",
]


def op(
    *,
    promote: Promote | Callable[..., Promote],
    accepts: Category,
    forms: Form,
    samples: Sequence[Sample],
    name: str | None = None,
    refuse: str | Callable[..., str | Exception | None] | None = None,
    keep_scalar: tuple[str, ...] = (),
    keep_float32: tuple[str, ...] = (),
    follow: tuple[str, ...] = (),
    must_fit: tuple[str, ...] = (),
    saturate: bool = False,
    autocast: Autocast | Mapping[str, AutocastRule] | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the decorated function an op, and returns its function form.

    Args:
        promote, accepts, refuse, keep_scalar, keep_float32, follow, must_fit, saturate: the fields of ``DtypeRule``.
        forms: the public forms that PyTorch has.
        samples: calls for the tests.
        name: the public name, where Python forbids it as the function's own.
        autocast: what autocast does with the tensors given: a rule for all devices, or rules by type of device.
        fields: the other fields of ``Op``.

    Raises:
        TypeError, ValueError: a word, a rule or an annotation has no meaning here.
    """

    rule = DtypeRule(
        promote=promote,
        accepts=accepts,
        refuse=refuse,
        keep_scalar=keep_scalar,
        keep_float32=keep_float32,
        follow=follow,
        must_fit=must_fit,
        saturate=saturate,
    )

    def declare(compute: Callable[..., object]) -> Callable[..., Any]:
        public = name or compute.__name__
        record = Op(
            compute=compute,
            name=public,
            dtype_rule=rule,
            forms=forms,
            samples=tuple(samples),
            autocast=_by_device(autocast),
            **fields,
        )
        if CATALOG.setdefault(public, record) is not record:
            raise ValueError(f"op {public!r} is declared already, in {CATALOG[public].compute.__module__}")
        return function_form(record)

    return declare


def _by_device(autocast: Autocast | Mapping[str, AutocastRule] | None) -> Mapping[str, AutocastRule]:
    if isinstance(autocast, Autocast):
        return dict.fromkeys(DEVICES, autocast)
    return autocast or {}


def composite(
    *,
    forms: Form,
    name: str | None = None,
    autocast: Autocast | Mapping[str, AutocastRule] | None = None,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function that PyTorch composes of other ops. Here too the graph then shows these ops.

    Args:
        autocast: as for ``op``; what the function calls is then left as it is.
        fields: the other fields of ``Composite``.
    """

    def declare(function: Callable[..., object]) -> Callable[..., Any]:
        public = name or function.__name__
        record = Composite(function=function, name=public, forms=forms, autocast=_by_device(autocast), **fields)
        if public in CATALOG or COMPOSITES.setdefault(public, record) is not record:
            raise ValueError(f"{public!r} is declared already")
        return composite_form(record)

    return declare


def alias(name: str, function: Callable[..., object], without: Form = Form.NONE) -> Callable[..., Any]:
    """Declares another public name for an op or composite; its nodes in the graph keep their name.

    Args:
        name: the other name.
        function: what ``op`` or ``composite`` gave.
        without: forms that the other name does not have.
    """
    record: Op | Composite = function.declared
    if name in CATALOG or name in COMPOSITES:
        raise ValueError(f"{name!r} is declared already")
    if not namespaced(name):  # an op in a namespace has no method
        record.aliases[name] = record.forms & ~without
    return function_form(record, name) if isinstance(record, Op) else composite_form(record, name)
