"""x-transformers: a decoder with rotary positions, its loss and what it generates."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=32, max_seq_len=24, attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True)
    )
)
tokens = torch.randint(0, 32, (2, 12))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    loss = model(tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.5f}")
print(model.generate(tokens[:, :3], 6, temperature=0.0).tolist())
encoder = TransformerWrapper(
    num_tokens=32, max_seq_len=24, attn_layers=Encoder(dim=32, depth=1, heads=4, ff_glu=True, use_rmsnorm=True)
)
print(f"{encoder(tokens, mask=torch.ones_like(tokens).bool()).sum().item():.4f}")
