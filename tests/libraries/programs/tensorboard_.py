"""tensorboard: scalars, histograms and pictures are written, and read back by TensorBoard itself."""

import tempfile

import torch
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_histogram("weights", torch.randn(100), 0)
        writer.add_image("picture", torch.rand(3, 8, 8), 0)
        writer.add_text("note", "hello", 0)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder)
    events.Reload()
    print(sorted(events.Tags()["scalars"]), sorted(events.Tags()["histograms"]), sorted(events.Tags()["images"]))
    print([(e.step, round(e.value, 6)) for e in events.Scalars("loss")])
    histogram = events.Histograms("weights")[0].histogram_value
    print(round(histogram.min, 5), round(histogram.max, 5), round(histogram.sum, 4), histogram.num)
