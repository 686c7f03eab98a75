"""Stores many small arrays in one file: their bytes one after the other, and a table of their positions."""

import json
from pathlib import Path
from typing import Any

import numpy as np


def pack(path: Path, arrays: dict[str, np.ndarray], words: dict[str, Any]) -> None:
    """Writes arrays by name, and beside them anything that JSON can hold."""
    table, parts, offset = [], [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        table.append([name, array.dtype.name, list(array.shape), offset])
        parts.append(array.tobytes())
        offset += array.nbytes
    data = np.frombuffer(b"".join(parts), np.uint8)
    np.savez_compressed(path, table=np.array(json.dumps({"arrays": table, "words": words})), data=data)


def unpack(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads what `pack` wrote."""
    with np.load(path, allow_pickle=False) as file:
        told, data = json.loads(str(file["table"])), file["data"].tobytes()
    arrays = {}
    for name, dtype, shape, offset in told["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, np.dtype(dtype), count, offset).reshape(shape)
    return arrays, told["words"]
