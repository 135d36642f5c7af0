"""A softmax network becomes a one-vs-all network, without training data and with a new last layer (digits, three seeds)."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import slova
from slova import metrics
from slova.retrofit import OneVsAll, features_of, refit

images, labels = torch.tensor(load_digits().data / 16).float(), torch.tensor(load_digits().target)
moved, noise = images.view(-1, 8, 8).roll(1, 2).flatten(1), torch.rand(500, 64, generator=torch.Generator())


def trained(loss, seed):
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(150):
        network.zero_grad()
        loss(network(images[:900]), labels[:900]).backward()
        optimiser.step()
    return network


def measured(network, head="slova", calibration="exponential", **how):
    validation = images[900:1400], labels[900:1400]
    classifier = slova.Classifier.fit(network, validation, head=head, calibration=calibration, **how)
    clean, shifted, far = (classifier(part).log_probs.detach().exp() for part in (images[1400:], moved[1400:], noise))
    return metrics.ece(shifted, labels[1400:]), metrics.mmc(far), metrics.auroc(clean.amax(1), far.amax(1))


table = []
for network, own in [(trained(nn.CrossEntropyLoss(), seed), trained(slova.ova_loss, seed)) for seed in range(3)]:
    last = refit(network[2], *features_of(network, network[2], (images[:900], labels[:900])))
    softmax = measured(network, head="softmax", calibration="temperature")
    renewed = measured(nn.Sequential(*network[:2], last))
    table.append([softmax, measured(OneVsAll(network), rescale=True), renewed, measured(own)])
for name, row in zip(["softmax", "rescaled", "new last layer", "one-vs-all"], np.mean(table, 0), strict=True):
    print(f"{name:15s}", "ECE moved {:.3f}, MMC noise {:.3f}, AUROC noise {:.3f}".format(*row))
