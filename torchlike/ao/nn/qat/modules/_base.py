"""What layers with fake quantization share: the maker of the weight's fake quantizer, and the way from and to ordinary layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, Self

from .....nn.modules.module import Module


class Config(Protocol):
    """What is read of a ``QConfig``, whose module imports this one."""

    @property
    def weight(self) -> Callable[[], Module]: ...


class FakeQuantized(Module):
    """Beside a class of layers, first among the bases. ``_FLOAT_MODULE``: the class of ordinary layers."""

    _FLOAT_MODULE: ClassVar[type[Module]]
    _arguments: ClassVar[tuple[str, ...]] = ()  # of the constructor: attributes of the layer
    qconfig: Config
    weight_fake_quant: Module

    def __init__(self, *args: object, qconfig: Config | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if not qconfig:
            raise AssertionError(f"qconfig must be provided for QAT module {type(self).__name__}")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def _checked(cls, mod: Module) -> Module:
        """The layer itself, out of a layer fused with an activation."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        return mod

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Self:
        """The layer with fake quantization of an ordinary one, whose attribute ``qconfig`` says how. They share parameters."""
        qconfig = cls._checked(mod).qconfig
        layer = mod[0] if hasattr(mod, "_kinds") else mod  # pyright: ignore[reportIndexIssue]
        arguments = {name: getattr(layer, name) for name in cls._arguments}
        if hasattr(layer, "bias"):
            arguments["bias"] = layer.bias is not None
        result = cls(**arguments, qconfig=qconfig)
        result.weight = layer.weight
        if hasattr(layer, "bias"):
            result.bias = layer.bias
        return result
