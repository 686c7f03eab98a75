"""torchmetrics: metrics as functions and as modules over batches."""

import torch
import torchmetrics
from torchmetrics import functional as F

torch.manual_seed(0)
accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=4)
collection = torchmetrics.MetricCollection(
    [
        torchmetrics.F1Score(task="multiclass", num_classes=4, average="macro"),
        torchmetrics.ConfusionMatrix(task="multiclass", num_classes=4),
        torchmetrics.AUROC(task="multiclass", num_classes=4),
    ]
)
mse, mean = torchmetrics.MeanSquaredError(), torchmetrics.MeanMetric()
for _ in range(3):
    scores, target = torch.randn(16, 4).softmax(-1), torch.randint(0, 4, (16,))
    print(accuracy(scores, target).item(), mse(scores[:, 0], target.float()).item())
    collection.update(scores, target)
    mean.update(scores.max())
print(accuracy.compute().item(), mse.compute().item(), mean.compute().item())
for name, value in collection.compute().items():
    print(name, value.tolist())
print(F.pearson_corrcoef(torch.arange(8.0), torch.randn(8)).item(), F.r2_score(torch.randn(8), torch.randn(8)).item())
images = torch.rand(2, 3, 32, 32)
print(
    F.image.structural_similarity_index_measure(images, images * 0.9, data_range=1.0).item(),
    F.image.peak_signal_noise_ratio(images, images * 0.9, data_range=1.0).item(),
)
