"""Train a one-vs-all network, calibrate it, and let it answer NONE (scikit-learn's digits; a few seconds)."""

import torch
from sklearn.datasets import load_digits
from torch import nn

import slova

torch.set_num_threads(1)
torch.manual_seed(0)
pixels, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
images = pixels.float() / 16
shuffled = images.gather(1, torch.rand(images.shape).argsort(1))  # pictures of no digit, each in an order of its own
train, validation, test = slice(0, 900), slice(900, 1400), slice(1400, None)

network = slova.prepare(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
optimiser = torch.optim.Adam(network.parameters(), 3e-3)
for _ in range(150):
    loss = slova.ova_loss(network(images[train]), labels[train])
    loss = loss + 0.2 * slova.ova_loss(network(shuffled[train]), torch.full((900,), slova.NONE))
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

classifier = slova.Classifier.fit(network, (images[validation], labels[validation]), none_inputs=shuffled[900:1000])
answers = classifier.predict(images[test], reject=0.8)
answered = answers.label != slova.NONE
right = (answers.label == labels[test])[answered].float().mean()
print(f"Of the test digits {answered.float().mean():.0%} are answered, {right:.1%} of them right.")

noise = torch.rand(1000, 64, generator=torch.Generator().manual_seed(1))
answers = classifier.predict(noise, reject=0.8)
rejected = (answers.label == slova.NONE).float().mean()
print(f"Of the noise {rejected:.0%} is rejected, with a mean P(none) of {answers.none.mean():.2f}.")
