"""One line of a training loop prepares a network for degraded and unknown images, of kinds that are in no training."""

import torch
from sklearn.datasets import load_digits
from torch import nn

import slova
from slova.metrics import auroc
from slova.vision import SELECTION_DEGRADATIONS, SELECTION_OUTLIERS, add_outliers, augment, degrade

torch.set_num_threads(1)
torch.manual_seed(0)
pixels, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
images = pixels.float().view(-1, 1, 8, 8) / 16


def train(share: float) -> slova.Classifier:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU()]
    network = slova.prepare(nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10)))
    optimiser = torch.optim.Adam(network.parameters(), 2e-3)
    for _ in range(150):
        rows = torch.randperm(1000)[:100]
        batch, truth = augment(images[rows], labels[rows], degraded=share / 2, mixed=share, outliers=share)  # the line
        optimiser.zero_grad()
        slova.ova_loss(network(batch), truth, cross_entropy=1.5).backward()
        optimiser.step()
    return slova.Classifier.fit(network, images[1000:1400], labels[1000:1400])


test, truth = images[1400:], labels[1400:]
worse = degrade(test, kinds=SELECTION_DEGRADATIONS)
unknown = add_outliers(test, truth, share=1.0, kinds=SELECTION_OUTLIERS)[0][len(test) :]
table = []
for share in (0.0, 0.5):
    clean, degraded, none = map(train(share).predict, (test, worse, unknown))
    right = [float((answer.label == truth).float().mean()) for answer in (clean, degraded)]
    table.append([*right, auroc(clean.confidence, none.confidence)])
for name, row in zip(("Without", "With"), table, strict=True):
    print("{} augment, {:.1%} of clean and {:.1%} of degraded digits are right; AUROC {:.3f}.".format(name, *row))
