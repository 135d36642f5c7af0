"""Lightning with the one-vs-all loss and our metrics in its log, then calibration (scikit-learn's digits; seconds)."""

import warnings

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

import slova
from slova.metrics.torchmetrics import as_metric

warnings.filterwarnings("ignore", ".*treespec", FutureWarning)  # Lightning's own business with torch


class Digits(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.network = slova.prepare(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
        self.metrics = nn.ModuleDict({"brier": as_metric(slova.metrics.Brier), "ece": as_metric(slova.metrics.Ece)})
        self.configure_optimizers = lambda: torch.optim.Adam(self.parameters(), 3e-3)

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return slova.ova_loss(self.network(batch[0]), batch[1])

    def validation_step(self, batch: list[torch.Tensor]) -> None:
        for name, metric in self.metrics.items():
            metric.update(slova.log_slova(self.network(batch[0])).exp(), batch[1])
            self.log(name, metric)


torch.manual_seed(0)
rows = list(zip(torch.as_tensor(load_digits().data).float() / 16, load_digits().target, strict=True))
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(max_epochs=10, accelerator="cpu", devices=1, num_sanity_val_steps=0, **quiet)
trainer.fit(module := Digits(), DataLoader(rows[:1200], 100), validation := DataLoader(rows[1200:], 100))
reject = slova.Classifier.fit(module.network, validation).threshold(coverage=0.9)
logged = ", ".join(f"{name} {float(value):.3f}" for name, value in trainer.callback_metrics.items())
print(f"After ten epochs the log has {logged}; 90 % of the digits have a calibrated confidence above {reject:.3f}.")
