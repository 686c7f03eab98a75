"""skorch: a classifier within scikit-learn."""

import numpy as np
import torch
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier

torch.manual_seed(0)
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4)).astype(np.float32)
y = (X.sum(1) > 0).astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))

    def forward(self, x):
        return self.layers(x).softmax(-1)


net = NeuralNetClassifier(Net, max_epochs=4, lr=0.1, verbose=0, train_split=None, batch_size=16)
pipe = Pipeline([("scale", StandardScaler()), ("net", net)]).fit(X, y)
print(
    [round(v, 5) for v in net.history[:, "train_loss"]],
    round(pipe.score(X, y), 4),
    round(float(pipe.predict_proba(X).sum()), 3),
)
net.set_params(module__hidden=5)
print(net.fit(X, y).module_.layers[0].weight.shape)
