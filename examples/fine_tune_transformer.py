"""Fine-tunes a small BERT of the library transformers, loaded from a folder, with the library's own Trainer.

    pip install --no-deps transformers accelerate        and the requirements that the page on libraries names
    python -m torchlike examples/fine_tune_transformer.py
    python examples/fine_tune_transformer.py             with PyTorch itself

The model is made and saved first, so that nothing is downloaded. It then learns whether a sequence has more low tokens than high ones.
Exits with an error unless it classifies 90 % of new sequences correctly.
"""

import sys
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForMaskedLM,
    Trainer,
    TrainingArguments,
    set_seed,
)

TARGET = 0.9
WORDS, LENGTH = 40, 15


class Sequences(Dataset):
    """Sequences of 15 tokens, labelled 1 if most of them are in the upper half of the vocabulary."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(WORDS, (count, LENGTH), generator=generator)
        self.labels = ((self.tokens >= WORDS // 2).sum(1) > LENGTH // 2).long()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


def accuracy(prediction):
    return {"accuracy": float(np.mean(prediction.predictions.argmax(-1) == prediction.label_ids))}


def main():
    set_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        config = BertConfig(
            vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=LENGTH + 1,
        )  # fmt: skip
        BertForMaskedLM(config).save_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)  # adds a new last layer
        options = TrainingArguments(
            output_dir=folder, num_train_epochs=5, per_device_train_batch_size=32, learning_rate=2e-3,
            logging_steps=25, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(
            model, options, train_dataset=Sequences(1024, 1), eval_dataset=Sequences(256, 2), compute_metrics=accuracy
        )
        trainer.train()
        right = trainer.evaluate()["eval_accuracy"]
    print(f"{100 * right:.1f}% of new sequences are right")
    if right < TARGET:
        sys.exit(f"Expected {100 * TARGET:.0f}%.")


if __name__ == "__main__":
    main()
