"""A timm network, trained with our loss or, as many are, with binary cross-entropy: those need no more training.

timm's recipes with `--bce-loss` (ResNet strikes back, DeiT III, ...) train K sigmoids, which is what SLOVA reads: load
such weights with `pretrained=True` and calibrate. Weights trained with softmax are recognised, and have no P(none).
"""

import importlib.util
import sys

import torch

import slova

if importlib.util.find_spec("timm") is None:
    print("timm is not installed here, so nothing was run; pip install timm.")
    sys.exit()

import timm

torch.manual_seed(0)
network = timm.create_model("resnet18", num_classes=3, in_chans=1)  # pretrained=True for the weights
slova.prepare(network, classes=3)
labels = torch.arange(96) % 3
images = 0.3 * torch.rand(96, 1, 32, 32)
for k in range(3):
    images[labels == k, :, 10 * k : 10 * k + 10] += 0.7
optimiser = torch.optim.AdamW(network.parameters(), 1e-3)
for _ in range(10):
    optimiser.zero_grad()
    slova.ova_loss(network(images[:48]), labels[:48]).backward()
    optimiser.step()

classifier = slova.Classifier.fit(network, (images[48:], labels[48:]))
right = (classifier.predict(images[48:]).top == labels[48:]).float().mean()
print(f"The network from timm is right on {right:.0%} of the validation images, and calibrated: {classifier}.")
