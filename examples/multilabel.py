"""How sure may one be of a whole set of labels? Two real digits side by side, the set of digits is the answer."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import slova
from slova.multilabel import SetScorer, hamming, set_ece, subset_accuracy

torch.manual_seed(0)
generator = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
parts = np.split(generator.permutation(len(digits)), [900, 1350])  # no digit is in two of them
pairs = np.concatenate(
    [generator.choice(part, (rows, 2)) for part, rows in zip(parts, (3000, 1500, 1500), strict=True)]
)
inputs = torch.tensor(images[pairs].reshape(6000, 128) / 16).float()
targets = torch.tensor(np.eye(10)[digits[pairs]].max(axis=1))
train, validation, test = slice(0, 3000), slice(3000, 4500), slice(4500, None)

network = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))
optimiser = torch.optim.AdamW(network.parameters(), 3e-3)
for _ in range(150):
    optimiser.zero_grad()
    slova.multilabel_loss(network(inputs[train]), targets[train]).backward()
    optimiser.step()
with torch.no_grad():
    logits = network(inputs)

fitted = SetScorer.fit(logits[validation], targets[validation])
for name, scorer in [("as trained", SetScorer()), ("calibrated", fitted)]:
    sets, confidence, _ = scorer.predict(logits[test])
    right, wrong = subset_accuracy(sets, targets[test]), hamming(sets, targets[test])
    print(f"{name}: sets right {right:.1%}, labels wrong {wrong:.1%}, mean confidence {confidence.mean():.1%}, "
          f"ECE of the set {set_ece(confidence, sets, targets[test]):.3f}")  # fmt: skip

answered = confidence >= fitted.threshold(risk=0.1)
right, share = subset_accuracy(sets[answered], targets[test][answered]), answered.float().mean()
print(f"With at most 10 % wrong sets promised, {share:.0%} are answered, {right:.1%} of them right.")
