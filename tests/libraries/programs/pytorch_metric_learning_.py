"""pytorch-metric-learning: losses with miners and a memory, and how well neighbours agree."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, samplers

torch.manual_seed(0)
model = torch.nn.Linear(6, 4)
x, y = torch.randn(24, 6), torch.arange(24) % 4
for loss_function, miner in (
    (
        losses.TripletMarginLoss(
            margin=0.2, distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)
        ),
        miners.MultiSimilarityMiner(),
    ),
    (losses.ContrastiveLoss(), miners.TripletMarginMiner(margin=0.3, type_of_triplets="semihard")),
    (losses.NTXentLoss(temperature=0.2), None),
    (losses.MultiSimilarityLoss(), None),
    (losses.CrossBatchMemory(losses.SupConLoss(), embedding_size=4, memory_size=48), None),
):
    embedded = model(x)
    pairs = miner(embedded, y) if miner else None
    loss = loss_function(embedded, y, pairs) if pairs is not None else loss_function(embedded, y)
    model.zero_grad()
    loss.backward()
    print(type(loss_function).__name__, f"{loss.item():.5f} {model.weight.grad.abs().sum().item():.4f}")
arc = losses.ArcFaceLoss(num_classes=4, embedding_size=4)
print(f"{arc(model(x), y).item() > 0}")
print(len(list(samplers.MPerClassSampler(y, m=2, batch_size=8, length_before_new_iter=16))))
