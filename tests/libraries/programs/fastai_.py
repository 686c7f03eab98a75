"""fastai: tabular data and a learner with the one-cycle policy."""

import fastai.callback.schedule  # noqa: F401  gives learners fit_one_cycle
import torch
from fastai.basics import DataLoaders, Learner, accuracy, set_seed
from fastai.callback.progress import ProgressCallback
from fastai.data.core import DataLoader

set_seed(0)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
data = [(a, b) for a, b in zip(x, y)]
loaders = DataLoaders(DataLoader(data[:48], bs=8, shuffle=False), DataLoader(data[48:], bs=8))
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
learner = Learner(loaders, model, loss_func=torch.nn.CrossEntropyLoss(), metrics=accuracy, cbs=[])
learner.remove_cbs([c for c in learner.cbs if isinstance(c, ProgressCallback)])
with learner.no_logging():
    learner.fit_one_cycle(3, 1e-2)
for row in learner.recorder.values:
    print([round(float(v), 4) for v in row])
