"""rotary-embedding-torch: rotary positions of queries and keys, with a scale and for pictures."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
q, k = torch.randn(1, 4, 10, 32), torch.randn(1, 4, 10, 32)
rotary = RotaryEmbedding(dim=16)
print(f"{(rotary.rotate_queries_or_keys(q) @ rotary.rotate_queries_or_keys(k).mT).sum().item():.4f}")
xpos = RotaryEmbedding(dim=16, use_xpos=True)
a, b = xpos.rotate_queries_and_keys(q, k)
print(f"{a.sum().item():.4f} {b.sum().item():.4f}")
axial = RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=256)
freqs = axial.get_axial_freqs(4, 6)
print(tuple(freqs.shape), f"{apply_rotary_emb(freqs, torch.randn(1, 4, 6, 64)).sum().item():.4f}")
learned = RotaryEmbedding(dim=16, learned_freq=True)
learned.rotate_queries_or_keys(q).square().sum().sin().backward()
print(f"{learned.freqs.grad.abs().sum().item() < 1e3}")
