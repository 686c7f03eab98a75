"""transformers: greedy search, sampling and beams; a model that is saved and loaded again."""

import tempfile

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
).eval()
tokens = torch.randint(3, 96, (2, 6), generator=torch.Generator().manual_seed(1))
mask = torch.ones_like(tokens)
print(model.generate(tokens, attention_mask=mask, max_new_tokens=10, do_sample=False).tolist())
torch.manual_seed(1)
print(
    model.generate(
        tokens, attention_mask=mask, max_new_tokens=10, do_sample=True, top_k=20, top_p=0.9, temperature=1.3
    ).tolist()
)
print(model.generate(tokens, attention_mask=mask, max_new_tokens=8, do_sample=False, num_beams=3).tolist())
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = AutoModelForCausalLM.from_pretrained(folder).eval()
with torch.no_grad():
    print(torch.equal(again(tokens).logits, model(tokens).logits), again(tokens).logits.sum().item())
