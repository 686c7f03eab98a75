"""pytorch-forecasting: series as a data set, N-BEATS and a temporal fusion transformer with quantile loss."""

import logging
import warnings

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import NaNLabelEncoder
from pytorch_forecasting.metrics import SMAPE, QuantileLoss

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pl.seed_everything(0)
steps = np.arange(40)
table = pd.concat(
    pd.DataFrame({"time": steps, "value": np.sin(steps / 4 + g) + g, "group": str(g), "known": np.cos(steps / 3)})
    for g in range(3)
).reset_index(drop=True)
common = {
    "time_idx": "time", "target": "value", "group_ids": ["group"], "max_encoder_length": 12, "max_prediction_length": 4, "min_encoder_length": 12,
    "categorical_encoders": {"group": NaNLabelEncoder().fit(table.group)},
}  # fmt: skip
plain = TimeSeriesDataSet(table, time_varying_unknown_reals=["value"], **common)
loader = plain.to_dataloader(train=False, batch_size=16)
x, y = next(iter(loader))
print(sorted(x)[:4], x["encoder_cont"].shape, f"{x['encoder_cont'].sum().item():.4f}", f"{y[0].sum().item():.4f}")
torch.manual_seed(0)
beats = NBeats.from_dataset(plain, widths=[8, 16], backcast_loss_ratio=0.1, learning_rate=1e-2, log_interval=-1)
trainer = pl.Trainer(
    max_epochs=1, limit_train_batches=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, gradient_clip_val=0.1,
)  # fmt: skip
trainer.fit(beats, loader)
print(f"{beats(x)['prediction'].detach().abs().sum().item():.3f}")
mixed = TimeSeriesDataSet(
    table, static_categoricals=["group"], time_varying_known_reals=["known", "time"], time_varying_unknown_reals=["value"],
    add_relative_time_idx=True, **common,
)  # fmt: skip
x, y = next(iter(mixed.to_dataloader(train=False, batch_size=16)))
torch.manual_seed(0)
fusion = TemporalFusionTransformer.from_dataset(
    mixed,
    hidden_size=8,
    attention_head_size=2,
    dropout=0.0,
    hidden_continuous_size=4,
    loss=QuantileLoss(),
    log_interval=-1,
)
optimizer = torch.optim.Adam(fusion.parameters(), 1e-2)
for _ in range(3):
    out = fusion(x)["prediction"]
    loss = fusion.loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(out.shape, f"{loss.item():.4f}")
print(f"{SMAPE()(fusion.to_prediction(fusion(x)).detach(), y[0]).item():.3f}")
