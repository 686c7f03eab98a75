"""captum: which inputs a decision comes from."""

import torch
from captum.attr import DeepLift, FeatureAblation, IntegratedGradients, LayerConductance, NoiseTunnel, Saliency

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
x = torch.randn(2, 4, requires_grad=True)
attributions, delta = IntegratedGradients(model).attribute(x, target=1, return_convergence_delta=True, n_steps=20)
print(f"{attributions.sum().item():.5f}", [f"{d:.3f}" for d in delta.abs().tolist()])
for kind in (Saliency, DeepLift, FeatureAblation):
    print(kind.__name__, f"{kind(model).attribute(x, target=1).sum().item():.5f}")
print(f"{LayerConductance(model, model[0]).attribute(x, target=1, n_steps=20).sum().item():.5f}")
torch.manual_seed(1)
print(f"{NoiseTunnel(Saliency(model)).attribute(x, target=1, nt_samples=4, stdevs=0.1).sum().item():.5f}")
