"""open_clip: a small CLIP that is trained with its loss, and classifies by text."""

import torch
from open_clip import ClipLoss, get_tokenizer
from open_clip.model import CLIP
from open_clip.transform import image_transform
from PIL import Image

torch.manual_seed(0)
model = CLIP(
    embed_dim=16,
    vision_cfg={"image_size": 32, "patch_size": 8, "width": 32, "layers": 2, "head_width": 16},
    text_cfg={"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
)
tokens = get_tokenizer("ViT-B-32")(["a photo of a cat", "a dog", "two birds", "a red car"])
print(tokens.shape, tokens[0, :8].tolist())
images = torch.randn(4, 3, 32, 32)
loss_of = ClipLoss()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for _ in range(3):
    image_features, text_features, scale = model(images, tokens)
    loss = loss_of(image_features, text_features, scale)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {scale.item():.4f}")
model.eval()
with torch.no_grad():
    picture = image_transform(32, is_train=False)(Image.new("RGB", (48, 40), (200, 30, 90))).unsqueeze(0)
    image_features = model.encode_image(picture, normalize=True)
    text_features = model.encode_text(tokens, normalize=True)
    print([f"{v:.3f}" for v in (100 * image_features @ text_features.T).softmax(-1)[0].tolist()])
