"""trl: a small GPT-2 that is tuned by examples and by preferences."""

import contextlib
import copy
import io
import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

words = [
    "<pad>",
    "<eos>",
    "the",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "a",
    "mat",
    "tree",
    "yes",
    "no",
    "what",
    "did",
    "do",
    "?",
]
core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<eos>"))
core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<eos>")
set_seed(0)
model = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=len(words), n_embd=16, n_layer=2, n_head=2, n_positions=32, bos_token_id=1, eos_token_id=1, pad_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )
)  # fmt: skip
common = {
    "per_device_train_batch_size": 2, "max_steps": 4, "logging_steps": 1, "report_to": [], "learning_rate": 1e-2, "seed": 0,
    "use_cpu": True, "save_strategy": "no", "disable_tqdm": True, "bf16": False, "gradient_checkpointing": False,
}  # fmt: skip
texts = ["the cat sat on a mat", "a dog ran under the tree", "the dog sat on the mat", "a cat ran", "the tree", "a mat"]


def losses(trainer):
    with contextlib.redirect_stdout(io.StringIO()):  # it prints how long it took
        trainer.train()
    return [f"{row['loss']:.3f}" for row in trainer.state.log_history if "loss" in row]


with tempfile.TemporaryDirectory() as folder:
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(output_dir=folder, max_length=16, **common),
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tokenizer,
    )
    print(losses(trainer))
    preferences = {
        "prompt": ["what did the cat do ?", "did a dog sat ?"] * 2,
        "chosen": ["the cat sat", "yes"] * 2,
        "rejected": ["the tree ran", "no"] * 2,
    }
    trainer = DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=DPOConfig(output_dir=folder, beta=0.1, **common),
        train_dataset=Dataset.from_dict(preferences),
        processing_class=tokenizer,
    )
    print(losses(trainer))
print(f"{sum(p.abs().sum() for p in model.parameters()).item():.2f}")
