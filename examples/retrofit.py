"""A softmax network becomes one-vs-all, without training data and with a new last layer (digits, three seeds)."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import slova
from slova.retrofit import OneVsAll, features_of, refit

images, labels = torch.tensor(load_digits().data / 16).float(), torch.tensor(load_digits().target)
noise = torch.rand(500, 64, generator=torch.Generator())


def trained(loss, seed):
    torch.manual_seed(seed)
    network = slova.prepare(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(150):
        network.zero_grad()
        loss(network(images[:900]), labels[:900]).backward()
        optimiser.step()
    return network


def measured(network, **how):
    classifier = slova.Classifier.fit(network, (images[900:1400], labels[900:1400]), **how)
    clean, far = classifier.predict(images[1400:]), classifier.predict(noise)
    known, unknown = (one.confidence if classifier.scorer.none == "absent" else -one.none for one in (clean, far))
    return classifier.evaluate(images[1400:], labels[1400:]).ece.value, slova.metrics.auroc(known, unknown)


table = []
for network, own in [(trained(nn.CrossEntropyLoss(), seed), trained(slova.ova_loss, seed)) for seed in range(3)]:
    last = refit(network[2], *features_of(network, network[2], (images[:900], labels[:900])))
    renewed = measured(nn.Sequential(*network[:2], last), head="slova")
    table.append([measured(network), measured(OneVsAll(network), head="slova", rescale=True), renewed, measured(own)])
for name, row in zip(["softmax", "rescaled", "new last layer", "one-vs-all"], np.mean(table, 0), strict=True):
    print(f"{name:15s}", "ECE {:.3f}, AUROC of noise by P(none), or by the confidence of softmax, {:.3f}".format(*row))
print("A new last layer ranks noise with an AUROC of {2:.3f}, softmax with {0:.3f}.".format(*np.mean(table, 0)[:, 1]))
