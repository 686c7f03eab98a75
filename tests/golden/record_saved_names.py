"""Records under which names PyTorch's nodes show what they have saved: `python tests/golden/record_saved_names.py`, with PyTorch installed.

torchlike/autograd/saved_names.json has for each node its names, those of tensors with a star before them.
"""

import json
from pathlib import Path

FILE = Path(__file__).parents[2] / "torchlike" / "autograd" / "saved_names.json"


def names_of_nodes() -> dict[str, str]:
    """Returns for each of PyTorch's nodes that saves something the names, in one text."""
    import torch

    found = {}
    for name, node in vars(torch._C._functions).items():
        attributes = sorted(attribute for attribute in dir(node) if attribute.startswith("_saved_"))
        if attributes and "Backward" in name and "TestAutograd" not in name:
            raw = {attribute: "*" * hasattr(node, f"_raw{attribute}") for attribute in attributes}
            found[name] = " ".join(raw[attribute] + attribute[len("_saved_") :] for attribute in attributes)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(names)}" for name, names in names_of_nodes().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
