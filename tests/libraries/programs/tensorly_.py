"""tensorly: decompositions of tensors on PyTorch's backend, and regression."""

import tensorly as tl
import torch
from tensorly.decomposition import parafac, tensor_train, tucker
from tensorly.regression import TuckerRegressor

tl.set_backend("pytorch")
torch.manual_seed(0)
x = torch.randn(5, 6, 4)
cp = parafac(x, rank=3, init="svd", n_iter_max=20)
print(f"{tl.norm(tl.cp_to_tensor(cp) - x).item():.4f}")
core, factors = tucker(x, rank=[3, 3, 2], n_iter_max=20)
print(tuple(core.shape), f"{tl.norm(tl.tucker_to_tensor((core, factors)) - x).item():.4f}")
print([tuple(f.shape) for f in tensor_train(x, rank=[1, 3, 3, 1])])
print(f"{tl.unfold(x, 1).sum().item():.4f} {tl.tenalg.khatri_rao([factors[0], factors[1]]).sum().abs().item():.4f}")
model = TuckerRegressor(weight_ranks=[2, 2], tol=1e-5, n_iter_max=10, reg_W=1, verbose=0)
data, target = torch.randn(30, 4, 3, dtype=torch.float64), torch.randn(30, dtype=torch.float64)
torch.manual_seed(1)
model.fit(data, target)
print(tuple(model.predict(data).shape))
