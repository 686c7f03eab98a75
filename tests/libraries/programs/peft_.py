"""peft: LoRA on a small model of transformers, merged and saved."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
tokens = torch.randint(3, 96, (2, 8), generator=torch.Generator().manual_seed(1))
make = lambda: GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64))
base = make()
state = {k: v.clone() for k, v in base.state_dict().items()}
model = get_peft_model(
    base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True)
)
model.print_trainable_parameters()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for _ in range(3):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.5f}")
model.eval()
with tempfile.TemporaryDirectory() as folder, torch.no_grad():
    model.save_pretrained(folder)
    fresh = make()
    fresh.load_state_dict(state)
    again = PeftModel.from_pretrained(fresh, folder).eval()
    print(f"{again(input_ids=tokens).logits.sum().item():.4f} {model(input_ids=tokens).logits.sum().item():.4f}")
    print(f"{model.merge_and_unload()(input_ids=tokens).logits.sum().item():.4f}")
