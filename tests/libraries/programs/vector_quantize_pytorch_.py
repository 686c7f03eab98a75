"""vector-quantize-pytorch: a codebook that learns, residual and finite scalar quantization."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 16, 8)
vq = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
for _ in range(3):
    quantized, indices, loss = vq(x)
    print(tuple(quantized.shape), indices.sum().item(), f"{loss.item():.5f}")
residual = ResidualVQ(dim=8, num_quantizers=3, codebook_size=8, kmeans_init=True, kmeans_iters=3)
quantized, indices, loss = residual(x)
print(tuple(indices.shape), tuple(quantized.shape), tuple(loss.shape))
fsq = FSQ(levels=[8, 5, 5])
y = torch.randn(2, 10, 3, requires_grad=True)
quantized, indices = fsq(y)
quantized.sum().backward()
print(indices.sum().item(), f"{quantized.sum().item():.4f} {y.grad.sum().item():.4f}")
lfq = LFQ(codebook_size=16, dim=4, entropy_loss_weight=0.1)
quantized, indices, loss = lfq(torch.randn(2, 5, 4))
print(indices.sum().item(), f"{loss.item():.4f}")
