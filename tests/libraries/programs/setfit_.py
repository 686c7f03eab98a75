"""SetFit: few examples train a small sentence encoder by contrast, and a head on top."""

import contextlib
import io
import tempfile

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from setfit import SetFitModel, Trainer, TrainingArguments
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

words = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "good",
    "bad",
    "nice",
    "awful",
    "film",
    "food",
    "day",
    "a",
    "very",
    "the",
    "was",
    "it",
]
core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
set_seed(0)
with tempfile.TemporaryDirectory() as folder:
    PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    ).save_pretrained(folder)
    BertModel(
        BertConfig(
            vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )
    ).save_pretrained(folder)  # fmt: skip
    encoder = Transformer(folder, max_seq_length=16)
    body = SentenceTransformer(modules=[encoder, Pooling(16)], device="cpu")
    model = SetFitModel(model_body=body, labels=["bad", "good"])
    from setfit import SetFitHead

    model.model_head = SetFitHead(in_features=16, out_features=2, device="cpu")
    texts = ["a good film", "the food was bad", "very nice day", "it was awful", "a nice film", "the day was bad"]
    data = Dataset.from_dict({"text": texts, "label": [1, 0, 1, 0, 1, 0]})
    arguments = TrainingArguments(
        output_dir=folder, batch_size=(4, 2), num_epochs=(1, 3), max_steps=6, body_learning_rate=(1e-3, 1e-3),
        head_learning_rate=0.05, seed=0, report_to="none", save_strategy="no", show_progress_bar=False, logging_steps=1,
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=data, metric="accuracy")
    with contextlib.redirect_stdout(io.StringIO()):  # it prints how long it took
        trainer.train_embeddings(texts, [1, 0, 1, 0, 1, 0], args=arguments)
    print(f"{model.encode(texts).square().sum().item():.3f}")
    trainer.train_classifier(texts, [1, 0, 1, 0, 1, 0], args=arguments)
    print([[f"{v:.3f}" for v in row] for row in model.predict_proba(texts).tolist()])
    print([str(v) for v in model.predict(texts)])
