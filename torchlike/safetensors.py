"""The adapter to safetensors: what ``safetensors.torch`` does for PyTorch's tensors, under the same names for torchlike's."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import ml_dtypes
import numpy as np

from ._core.annotations import DeviceLike
from ._core.fields import root_of, stored_value

try:
    import safetensors
    import safetensors.numpy
except ImportError as error:
    raise ImportError(
        "torchlike.safetensors stands on the safetensors library: pip install 'torchlike[safetensors]'"
    ) from error

from ._core.tensor import Tensor, from_host
from .serialization._replacement import Replacement

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]

_ABOUT_SHARING = "https://huggingface.co/docs/safetensors/torch_shared_tensors"
_DTYPES: dict[str, Any] = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32, "I32": np.int32,
    "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
    "C64": np.complex64, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Tensors by name as the bytes of a safetensors file.

    Args:
        metadata: texts to write beside them.

    Raises:
        RuntimeError: tensors share memory. ValueError: one is not contiguous, or no tensor.

    >>> from torchlike.safetensors import load, save
    >>> load(save({"weight": torch.ones(2)}))
    {'weight': tensor([1., 1.])}

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    return safetensors.numpy.save(_arrays(tensors), metadata)


def save_file(
    tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Saves tensors by name into a safetensors file, which takes the place of an older one when it is complete.

    Args:
        metadata: texts to write beside them.

    Raises:
        RuntimeError: tensors share memory. ValueError: one is not contiguous, or no tensor.

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    arrays = _arrays(tensors)
    with Replacement(os.fspath(filename)) as file:
        safetensors.numpy.save_file(arrays, file.name, metadata)


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors by name in the bytes of a safetensors file, on the CPU.

    Raises:
        safetensors.SafetensorError: the bytes are no such file, or not all of one.

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    return {name: from_host(_array(description)) for name, description in safetensors.deserialize(data)}


def load_file(filename: str | os.PathLike[str], device: DeviceLike = "cpu") -> dict[str, Tensor]:
    """The tensors by name in a safetensors file.

    Args:
        device: where they go.

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    with open(filename, "rb") as file:
        loaded = load(file.read())
    return {name: tensor.to(device) for name, tensor in loaded.items()}


def save_model(
    model: Any, filename: str | os.PathLike[str], metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Saves a module's ``state_dict`` into a safetensors file; of tensors that share memory the one that has all of it, once.

    Args:
        metadata: texts to write beside them.
        force_contiguous: write tensors that are not contiguous as if they were.

    Raises:
        RuntimeError: several tensors lie in one memory, and none covers it.

    >>> import os, tempfile
    >>> from torchlike.safetensors import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(torch.nn.Linear(2, 1), os.path.join(folder, "model.safetensors"))
    ...     load_model(torch.nn.Linear(2, 1), os.path.join(folder, "model.safetensors"))
    (set(), [])

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    state = model.state_dict()
    metadata = dict(metadata or {})
    for kept_name, others in _doubles(state).items():
        for name in others:
            metadata.setdefault(name, kept_name)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    try:
        save_file(dict(state), filename, metadata)
    except ValueError as error:
        raise ValueError(
            f"{error} Or use save_model(..., force_contiguous=True), read the docs for potential caveats."
        ) from None


def load_model(
    model: Any, filename: str | os.PathLike[str], strict: bool = True, device: DeviceLike = "cpu"
) -> tuple[set[str], list[str]]:
    """Loads a file that ``save_model`` has written into a module.

    Args:
        strict: every name must be on both sides.

    Returns:
        The missing names and the unexpected names.

    Raises:
        RuntimeError: names or shapes do not fit.

    Source: https://huggingface.co/docs/safetensors/api/torch
    """
    state = load_file(filename, device)
    doubles = _doubles(model.state_dict(), preferred=state.keys())
    incompatible = model.load_state_dict(state, strict=False)
    missing, unexpected = set(incompatible.missing_keys), list(incompatible.unexpected_keys)
    for name in (name for others in doubles.values() for name in others):
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        text = f"Error(s) in loading state_dict for {type(model).__name__}:"
        for what, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                text += f"\n    {what} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in sorted(names))
        raise RuntimeError(text)
    return missing, unexpected


def _arrays(tensors: object) -> dict[str, np.ndarray]:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    groups = [set(names) for names in _by_memory(tensors) if len(names) > 1]
    if groups:
        raise RuntimeError(
            "\n            Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {groups}.\n            A potential way to correctly save your model is to use `save_model`.\n"
            f"            More information at {_ABOUT_SHARING}\n            "
        )
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are trying to "
                "save tensors which are reference of each other in which case it's recommended to save only the full tensors, and "
                "reslice at load time, or simply call `.contiguous()` on your tensor to pack it before saving."
            )
    return {name: np.ascontiguousarray(tensor._array()).reshape(tensor.shape) for name, tensor in tensors.items()}


def _array(described: dict[str, Any]) -> np.ndarray:
    name = described["dtype"]
    if name not in _DTYPES:
        raise NotImplementedError(f"torchlike does not have the dtype {name} of a tensor in the file")
    return np.frombuffer(described["data"], _DTYPES[name]).reshape(described["shape"])


def _by_memory(tensors: dict[str, Tensor]) -> list[list[str]]:
    """The names of tensors that lie in one memory, by memory."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, tensor in tensors.items():
        if tensor.numel():
            names[id(root_of(tensor))].append(name)
    return list(names.values())


def _doubles(tensors: dict[str, Tensor], preferred: Collection[str] = ()) -> dict[str, list[str]]:
    """Of names for one memory the one to keep, and the others."""
    names_by_kept = {}
    for names in _by_memory(tensors):
        if len(names) == 1:
            continue
        covering = sorted(name for name in names if _covers(tensors[name]))
        if not covering:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for saving "
                f"amongst: {set(names)}. None is covering the entire storage.Refusing to save/load the model since you could be "
                f"storing much more memory than needed. Please refer to {_ABOUT_SHARING} for more information. Or open an issue."
            )
        name_kept = next((name for name in covering if name in preferred), covering[0])
        names_by_kept[name_kept] = sorted(name for name in names if name != name_kept)
    return names_by_kept


def _covers(tensor: Tensor) -> bool:
    return tensor.numel() == math.prod(stored_value(tensor).aval.shape)
