"""Records PyTorch's rules about dtypes: `python -m tests.golden.record_dtypes`."""

import json
from pathlib import Path

import torch

from tests._core.dtype_tables import limits, products, promotions

if __name__ == "__main__":
    tables = {"promotions": promotions(torch), "products": products(torch), "limits": limits(torch)}
    lines = [f'"{name}": {json.dumps(table)}' for name, table in tables.items()]
    text = f'{{"pytorch": "{torch.__version__}",\n' + ",\n".join(lines) + "}\n"
    (Path(__file__).parent / "dtypes.json").write_text(text, encoding="utf-8")
