"""Which digits to label next? The least certain ones, by three kinds of doubt, or any (five seeds, some seconds)."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import slova

images, digits = torch.tensor(load_digits().data / 16).float(), torch.tensor(load_digits().target)
doubts = {"random": lambda logits: torch.rand(len(logits)), "1 - confidence": lambda f: -slova.log_slova(f).amax(1)}
doubts |= {"P(none)": slova.log_none, "P(several)": slova.log_several}


def trained(rows):
    network = slova.prepare(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        slova.ova_loss(network(images[rows]), digits[rows]).backward()
        optimiser.step()
    return network.requires_grad_(False)


def accuracies(doubt, seed):
    torch.manual_seed(seed)
    test, rows, pool = torch.randperm(len(digits)).split([600, 30, len(digits) - 630])
    for _ in range(5):  # 30, 65, ... 170 labels
        yield ((network := trained(rows))(images[test]).argmax(1) == digits[test]).float().mean().item()
        pool = pool[doubt(network(images[pool])).argsort(descending=True)]
        rows, pool = torch.cat([rows, pool[:35]]), pool[35:]


tables = {name: np.array([list(accuracies(doubt, seed)) for seed in range(5)]) for name, doubt in doubts.items()}
print("labels          " + "".join(f"{30 + 35 * step:7d}" for step in range(5)), "  better than random at the end")
for name, table in tables.items():
    better = f"  in {(table[:, -1] > tables['random'][:, -1]).sum()} of 5 seeds"
    print(f"{name:16s}" + "".join(f"{value:7.1%}" for value in table.mean(axis=0)), better)
chosen, drawn = (f"{tables[name][:, -1].mean():.1%}" for name in ("1 - confidence", "random"))
print(f"With 170 labels, choosing the least confident digits gives {chosen} accuracy, random ones {drawn}.")
