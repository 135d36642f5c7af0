"""Hugging Face's Trainer with the one-vs-all loss, then calibration and a reject threshold (a tiny BERT, toy texts)."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

import slova

set_seed(0)
torch.set_num_threads(1)


def texts(rows: int, seed: int) -> list[dict[str, torch.Tensor]]:
    """Sentences of 12 of 40 words; the class is the third of the vocabulary that most of them come from."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 3, (rows,), generator=generator)
    noise = torch.rand(rows, 12, generator=generator) < 0.5
    words = torch.randint(1, 40, (rows, 12), generator=generator)
    words = torch.where(noise, words, labels[:, None] * 13 + words % 13 + 1)
    return [{"input_ids": row, "labels": label} for row, label in zip(words, labels, strict=True)]


config = BertConfig(
    vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=3
)
network = BertForSequenceClassification(config)
slova.prepare(network, classes=3)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, num_train_epochs=3, per_device_train_batch_size=32, learning_rate=3e-3, use_cpu=True, report_to=[],
        save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
    )  # fmt: skip
    loss = lambda output, labels, num_items_in_batch=None: slova.ova_loss(output.logits, labels)
    Trainer(network, arguments, train_dataset=texts(1500, 1), compute_loss_func=loss).train()

classifier = slova.Classifier.fit(network, torch.utils.data.DataLoader(texts(1000, 2), batch_size=100))
answers = classifier.predict({"input_ids": torch.stack([text["input_ids"] for text in texts(500, 3)])}, reject=0.8)
share = (answers.label != slova.NONE).float().mean()
print(f"Of 500 texts {share:.0%} are answered with a confidence of .8 or more.")
