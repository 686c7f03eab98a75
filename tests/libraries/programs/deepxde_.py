"""DeepXDE: Poisson's equation in one dimension by a network whose derivatives are in the loss, and a DeepONet."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch

dde.config.set_random_seed(0)
geometry = dde.geometry.Interval(-0.5, 1)


def equation(x, y):
    return -dde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x)


condition = dde.icbc.DirichletBC(geometry, lambda x: 0, lambda x, on_boundary: on_boundary)
data = dde.data.PDE(
    geometry,
    equation,
    condition,
    16,
    2,
    train_distribution="uniform",
    solution=lambda x: np.sin(np.pi * x),
    num_test=20,
)
network = dde.nn.FNN([1, 20, 20, 1], "tanh", "Glorot uniform")
model = dde.Model(data, network)
model.compile("adam", lr=0.01, metrics=["l2 relative error"], verbose=0)
history, state = model.train(iterations=60, display_every=20, verbose=0)
for losses, metric in zip(history.loss_train, history.metrics_test, strict=True):
    print([f"{v:.4f}" for v in losses], f"{metric[0]:.4f}")
model.compile("L-BFGS", verbose=0)
dde.optimizers.config.set_LBFGS_options(maxiter=10)
history, state = model.train(display_every=10, verbose=0)
print(state.best_loss_train < 1, model.predict(np.array([[0.5]])).shape)
branch = np.random.RandomState(0).randn(12, 5).astype(np.float32)
trunk = np.linspace(0, 1, 7, dtype=np.float32)[:, None]
values = (branch.mean(1, keepdims=True) * trunk.T).astype(np.float32)
pairs = dde.data.TripleCartesianProd((branch, trunk), values, (branch, trunk), values)
operator = dde.nn.DeepONetCartesianProd([5, 10, 8], [1, 10, 8], "relu", "Glorot normal")
model = dde.Model(pairs, operator)
model.compile("adam", lr=0.01, verbose=0)
history, _ = model.train(iterations=20, display_every=10, verbose=0)
print([f"{float(v):.4f}" for v in np.ravel(history.loss_train)])
