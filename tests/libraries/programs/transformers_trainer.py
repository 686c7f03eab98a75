"""transformers: the Trainer over a small data set, with evaluation and a checkpoint."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback

set_seed(0)
generator = torch.Generator().manual_seed(1)
data = [{"input_ids": t, "labels": (t.sum() % 3)} for t in torch.randint(3, 96, (24, 8), generator=generator)]
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=99, num_labels=3, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64
    )
)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        num_train_epochs=2,
        per_device_train_batch_size=8,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to=[],
        seed=0,
        learning_rate=1e-3,
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=data,
        eval_dataset=data[:8],
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )
    trainer.remove_callback(PrinterCallback)  # which prints how long things took
    result = trainer.train()
    for entry in trainer.state.log_history:
        print(
            {
                k: round(float(v), 4)
                for k, v in entry.items()
                if k in ("loss", "eval_loss", "grad_norm", "learning_rate", "eval_accuracy")
            }
        )
    print(f"{result.training_loss:.4f}", trainer.predict(data[:4]).predictions.sum().round(4))
