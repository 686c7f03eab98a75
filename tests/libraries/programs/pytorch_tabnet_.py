"""pytorch-tabnet: a classifier with its explanations, a regressor, and pretraining without labels."""

import contextlib
import io
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

random = np.random.default_rng(0)
x = random.normal(size=(120, 5)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(int)
options = {
    "n_d": 4,
    "n_a": 4,
    "n_steps": 2,
    "seed": 0,
    "verbose": 0,
    "device_name": "cpu",
    "optimizer_params": {"lr": 0.02},
}
fit = {"max_epochs": 3, "batch_size": 40, "virtual_batch_size": 20, "patience": 5, "num_workers": 0, "drop_last": False}
classifier = TabNetClassifier(**options)
classifier.fit(x[:80], y[:80], eval_set=[(x[80:], y[80:])], eval_metric=["logloss"], **fit)
print([f"{v:.4f}" for v in classifier.history["loss"]], [f"{v:.4f}" for v in classifier.history["val_0_logloss"]])
print([f"{v:.4f}" for v in classifier.predict_proba(x[:3]).flatten()], classifier.predict(x[:6]).tolist())
masks, _ = classifier.explain(x[:4])
print([f"{v:.4f}" for v in classifier.feature_importances_], f"{masks.sum():.3f}")
with tempfile.TemporaryDirectory() as folder:
    again = TabNetClassifier()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints where
        file = classifier.save_model(f"{folder}/model")
    again.load_model(file)
    print(f"{np.abs(again.predict_proba(x) - classifier.predict_proba(x)).max():.4f}")
regressor = TabNetRegressor(**options, mask_type="entmax")
regressor.fit(x, (x @ np.arange(5, dtype=np.float32))[:, None], **fit)
print([f"{v:.3f}" for v in regressor.history["loss"]], [f"{v:.3f}" for v in regressor.predict(x[:3]).flatten()])
pretrainer = TabNetPretrainer(**options, mask_type="entmax")
pretrainer.fit(x, pretraining_ratio=0.5, **fit)
print(len(pretrainer.history["loss"]), pretrainer.predict(x[:2])[0].shape)
