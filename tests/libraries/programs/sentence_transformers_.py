"""sentence-transformers: modules of one's own, similarities and a loss."""

import torch
from sentence_transformers import util
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

torch.manual_seed(0)
features = {
    "token_embeddings": torch.randn(2, 5, 8),
    "attention_mask": torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]),
}
for mode in ("mean", "max", "cls"):
    model = torch.nn.Sequential(Pooling(8, mode), Dense(8, 4), Normalize())
    print(mode, f"{model(dict(features))['sentence_embedding'].sum().item():.5f}")
a, b = torch.randn(3, 4), torch.randn(5, 4)
print(f"{util.cos_sim(a, b).sum().item():.5f} {util.dot_score(a, b).sum().item():.5f}")
print([(h["corpus_id"], round(h["score"], 4)) for h in util.semantic_search(a, b, top_k=2)[0]])
