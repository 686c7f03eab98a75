"""An exported model: its ONNX graph, which onnxruntime runs and files hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core.tensor import Tensor
from ..export import ExportedProgram
from ..export._staged import tensors_of
from ..ops.creation.from_data import from_numpy
from ._jax2onnx import library, session_of
from ._names import Model

__all__ = ["ONNXProgram"]


class ONNXProgram:
    """A model as an ONNX graph. ``torch.onnx.export`` makes it.

    Attributes:
        model_proto: the model, as ``onnx`` has it.
        exported_program: what it was made of, if it was an ``ExportedProgram``.

    Source: https://docs.pytorch.org/docs/stable/onnx_export.html#torch.onnx.ONNXProgram
    """

    def __init__(self, model: Model, exported_program: ExportedProgram | None = None) -> None:
        self.model_proto, self.exported_program = model, exported_program
        self._session: object = None

    @property
    def model(self) -> Any:
        """The model as ``onnx_ir`` has it: a copy."""
        return library("onnx_ir").from_proto(self.model_proto)

    def __call__(self, *args: object, **kwargs: object) -> tuple[Tensor, ...]:
        """Runs the model by onnxruntime, on the tensors among the arguments of the exported module, in their order."""
        tensors, session = tensors_of((args, kwargs)), self._runner()
        names = [each.name for each in session.get_inputs()]
        arrays = dict(zip(names, [each.detach().numpy() for each in tensors], strict=True))
        return tuple([from_numpy(np.array(each)) for each in session.run(None, arrays)])

    def _runner(self) -> Any:
        if self._session is None:
            self.initialize_inference_session()
        return self._session

    def initialize_inference_session(self, initializer: Callable[[bytes], object] = session_of) -> None:
        """Makes what runs the model. ``initializer``: takes the bytes of the model, and returns a session of onnxruntime."""
        self._session = initializer(self.model_proto.SerializeToString())

    def release(self) -> None:
        """Drops what ``initialize_inference_session`` has made."""
        self._session = None

    def apply_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Replaces the weights by others, by name.

        Raises:
            KeyError: the model has no weight of that name.
        """
        helper, known = library("onnx.numpy_helper"), {}
        for each in self.model_proto.graph.initializer:
            known[each.name] = each
        for name, tensor in state_dict.items():
            known[name].CopyFrom(helper.from_array(tensor.detach().numpy(), name))
        self.release()

    def save(
        self,
        destination: Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Writes the model to a file.

        Args:
            destination: a path, or a binary file.
            include_initializers: whether the weights are in it.
            keep_initializers_as_inputs: whether the weights are inputs as well, so that a caller may replace them.
            external_data: whether the weights lie in a file beside it, ``destination`` and ".data"; by default those of more than 2 GB.

        Raises:
            ValueError: weights beside a file that has no path.
        """
        onnx = library("onnx")
        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        if keep_initializers_as_inputs or not include_initializers:
            of = onnx.helper.make_tensor_value_info
            model.graph.input.extend(
                [of(each.name, each.data_type, list(each.dims)) for each in model.graph.initializer]
            )
        if not include_initializers:
            del model.graph.initializer[:]
        beside = model.ByteSize() >= 2**31 if external_data is None else external_data
        if not isinstance(destination, (str, os.PathLike)):
            if external_data:
                raise ValueError("external_data=True needs a path, beside which the weights are written")
            destination.write(model.SerializeToString())
            return
        path = os.fspath(destination)
        if not beside:
            onnx.save_model(model, path)
            return
        data = f"{path}.data"
        if os.path.exists(data):  # onnx would append to it
            os.remove(data)
        onnx.save_model(
            model, path, save_as_external_data=True, location=os.path.basename(data), size_threshold=EXTERNAL_BYTES
        )

    def optimize(self) -> None:
        """The model is optimised when it is made, so nothing remains to be done."""

    def __repr__(self) -> str:
        return f"ONNXProgram(\n{library('onnx').printer.to_text(self.model_proto)}\n)"


ONNXProgram.__module__ = "torchlike.onnx"
EXTERNAL_BYTES = 256  # smaller weights stay in the model, as in PyTorch
