"""ultralytics: a small YOLO trained on drawn squares, then validated, used and turned into other models."""

import os
import tempfile
from pathlib import Path

import numpy as np
import torch

os.environ["YOLO_VERBOSE"] = "False"
os.environ["YOLO_OFFLINE"] = "True"
from PIL import Image
from ultralytics import YOLO

with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    random = np.random.default_rng(0)
    for part in ("train", "val"):
        (root / "images" / part).mkdir(parents=True)
        (root / "labels" / part).mkdir(parents=True)
        for n in range(4):
            picture = np.full((64, 64, 3), 30, np.uint8)
            left, top = random.integers(4, 36, 2)
            picture[top : top + 24, left : left + 24] = (200, 60 * n, 40)
            Image.fromarray(picture).save(root / "images" / part / f"{n}.png")
            (root / "labels" / part / f"{n}.txt").write_text(
                f"0 {(left + 12) / 64} {(top + 12) / 64} {24 / 64} {24 / 64}\n"
            )
    (root / "data.yaml").write_text(f"path: {root}\ntrain: images/train\nval: images/val\nnames: [square]\n")
    model = YOLO("yolov8n.yaml")
    result = model.train(
        data=str(root / "data.yaml"), epochs=1, imgsz=64, batch=2, device="cpu", workers=0, project=str(root), name="run", plots=False,
        verbose=False, seed=0, mosaic=0.0, amp=False, pretrained=False, optimizer="SGD", lr0=0.01, warmup_epochs=0, exist_ok=True,
    )  # fmt: skip
    table = (root / "run" / "results.csv").read_text().splitlines()
    row = dict(zip((name.strip() for name in table[0].split(",")), table[-1].split(","), strict=True))
    print([f"{float(row[f'train/{kind}_loss']):.3f}" for kind in ("box", "cls", "dfl")])
    best = YOLO(root / "run" / "weights" / "best.pt")
    metrics = best.val(
        data=str(root / "data.yaml"), imgsz=64, batch=2, device="cpu", workers=0, plots=False, verbose=False
    )
    print(sorted(metrics.results_dict)[:3])
    found = best.predict(
        str(root / "images" / "val" / "0.png"), imgsz=64, conf=0.0001, device="cpu", verbose=False, max_det=5
    )
    print(len(found), found[0].boxes.xyxy.shape[1], found[0].orig_shape)
torch.manual_seed(0)
for name in ("yolov8n-cls.yaml", "yolov8n-seg.yaml", "yolo11n.yaml"):
    network = YOLO(name).model.eval()
    with torch.no_grad():
        out = network(torch.ones(1, 3, 64, 64) * 0.5)
    first = out[0] if isinstance(out, (tuple, list)) else out
    first = first[0] if isinstance(first, (tuple, list)) else first
    print(name, tuple(first.shape), f"{first.mean().item():.4f}")
