"""transformers: five kinds of models from their configurations: loss, gradients, a step."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
tokens = torch.randint(3, 96, (2, 12), generator=torch.Generator().manual_seed(1))
cases = [
    (
        lambda: BertForSequenceClassification(BertConfig(vocab_size=99, num_labels=3, **small)),
        {"input_ids": tokens, "labels": torch.tensor([0, 2])},
    ),
    (
        lambda: GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
        {"input_ids": tokens, "labels": tokens},
    ),
    (
        lambda: LlamaForCausalLM(
            LlamaConfig(vocab_size=99, num_key_value_heads=2, max_position_embeddings=64, **small)
        ),
        {"input_ids": tokens, "labels": tokens},
    ),
    (
        lambda: T5ForConditionalGeneration(
            T5Config(vocab_size=99, decoder_start_token_id=0, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
        ),
        {"input_ids": tokens, "labels": tokens[:, :5].contiguous()},
    ),
    (
        lambda: ViTForImageClassification(ViTConfig(image_size=16, patch_size=4, num_labels=3, **small)),
        {
            "pixel_values": torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(2)),
            "labels": torch.tensor([0, 2]),
        },
    ),
]
for make, inputs in cases:
    torch.manual_seed(0)
    model = make().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    print(type(model).__name__, sum(p.numel() for p in model.parameters()))
    for _ in range(3):
        loss = model(**inputs).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"{loss.item():.5f} {norm.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"{model(**inputs).loss.item():.5f}")
