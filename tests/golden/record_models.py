"""Records the structure of torchvision's models: `python -m tests.golden.record_models`, with torchvision installed."""

import json
from pathlib import Path

import torch
import torchvision
from torchvision import models

from tests.vision.models.model_cases import NAMES, SMALL, picture, structure

if __name__ == "__main__":
    words = {"torchvision": torchvision.__version__, "structures": {}, "outputs": {}, "weights": {}}
    for name in NAMES:
        with torch.device("meta"):
            words["structures"][name] = structure(getattr(models, name)())
        kind = models.get_model_weights(name)
        words["weights"][name] = {each.name: [each.url, each.meta["num_params"]] for each in kind} | {
            "DEFAULT": kind.DEFAULT.name
        }
    for name, make in SMALL.items():
        torch.manual_seed(0)
        with torch.no_grad():
            words["outputs"][name] = make(models, torch).eval()(picture(torch)).tolist()
    Path(__file__).with_name("models.json").write_text(json.dumps(words) + "\n", "utf-8")
