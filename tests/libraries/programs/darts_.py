"""Darts: forecasts by N-BEATS, a recurrent network, a TCN and a transformer."""

import logging
import warnings

import numpy as np

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
from darts import TimeSeries
from darts.metrics import mae
from darts.models import NBEATSModel, NLinearModel, RNNModel, TCNModel, TransformerModel
from darts.utils.likelihood_models import GaussianLikelihood

series = TimeSeries.from_values((np.sin(np.arange(80) / 5) + 0.01 * np.arange(80)).astype(np.float32))
train, rest = series[:70], series[70:]
common = {
    "n_epochs": 2, "batch_size": 16, "random_state": 0, "pl_trainer_kwargs": {
        "accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False, "logger": False,
    },
}  # fmt: skip
chunks = {"input_chunk_length": 12, "output_chunk_length": 4}
for model in (
    NBEATSModel(**chunks, num_stacks=2, num_blocks=1, num_layers=2, layer_widths=8, **common),
    RNNModel(model="LSTM", input_chunk_length=12, training_length=16, hidden_dim=8, **common),
    TCNModel(**chunks, num_filters=2, kernel_size=2, **common),
    TransformerModel(**chunks, d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, dropout=0.0, **common),
    NLinearModel(**chunks, **common),
):  # fmt: skip
    model.fit(train)
    forecast = model.predict(10)
    print(type(model).__name__, f"{mae(rest, forecast):.4f}", [f"{v:.3f}" for v in forecast.values()[:3, 0]])
model = NBEATSModel(
    **chunks, num_stacks=1, num_blocks=1, num_layers=1, layer_widths=8, likelihood=GaussianLikelihood(), **common
)
model.fit(train)
print(model.predict(4, num_samples=5).all_values().shape)
