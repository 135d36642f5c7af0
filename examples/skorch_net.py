"""skorch with the one-vs-all loss, then calibration and rejection (scikit-learn's digits; a few seconds)."""

import torch
from sklearn.datasets import load_digits
from skorch import NeuralNet
from torch import nn

import slova

torch.manual_seed(0)
pixels, digits = load_digits(return_X_y=True)
images = (pixels / 16).astype("float32")

network = slova.prepare(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
net = NeuralNet(
    network, criterion=lambda: slova.ova_loss, optimizer=torch.optim.Adam, lr=3e-3, max_epochs=15, batch_size=64,
    train_split=None, verbose=0,
)  # fmt: skip
net.fit(images[:900], digits[:900])

validation = torch.as_tensor(images[900:1400]), torch.as_tensor(digits[900:1400])
classifier = slova.Classifier.fit(net.module_, validation)
answers = classifier.predict(torch.as_tensor(images[1400:]), reject=0.8)
answered = (answers.label != slova.NONE).numpy()
right = (answers.label.numpy() == digits[1400:])[answered].mean()
print(f"Of the test digits {answered.mean():.0%} are answered, {right:.1%} of them right.")
