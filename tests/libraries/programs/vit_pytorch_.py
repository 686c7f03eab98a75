"""vit-pytorch: three vision transformers."""

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
for make in (
    lambda: ViT(image_size=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=4, mlp_dim=64, dropout=0.1),
    lambda: SimpleViT(image_size=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=4, mlp_dim=64),
    lambda: CCT(
        img_size=32,
        embedding_dim=32,
        n_conv_layers=1,
        kernel_size=3,
        stride=2,
        padding=1,
        pooling_kernel_size=3,
        pooling_stride=2,
        pooling_padding=1,
        num_layers=1,
        num_heads=4,
        mlp_ratio=2,
        num_classes=4,
        positional_embedding="learnable",
    ),
):
    torch.manual_seed(0)
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 2]))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{loss.item():.5f}", end=" ")
    print(type(model).__name__, sum(p.numel() for p in model.parameters()))
