"""A guaranteed risk: at most 2 % errors among the answers, on real CIFAR-10 logits, checked over 300 draws.

Validation sets are drawn from the 10,000 test images, the population: the true risk of a threshold is known.
"""

import numpy as np
from slova_bench.predictions import embedded

import slova
from slova.thresholds import selection_of, threshold_for

stored, name = embedded("cifar10"), "cifar10-test"
labels = stored.labels[name]
confidences = {
    "softmax": np.exp(slova.log_softmax(stored.logits["softmax", f"{name}||0"].astype(float))),
    "SLOVA": np.exp(slova.log_slova(stored.logits["ova", f"{name}||0"].astype(float))),
}


def draws(confidence, hits, delta, rows=2000, risk=0.02):
    """For each validation set: the true risk of its threshold, and the share of the population answered."""
    generator = np.random.default_rng(0)
    for _ in range(300):
        some = generator.integers(0, len(hits), rows)
        threshold = threshold_for(selection_of(confidence[some], hits[some]), risk=risk, delta=delta)
        answered = confidence >= threshold
        yield np.mean(~hits[answered]), answered.mean()


broken = {0.05: [], None: []}
for method, probs in confidences.items():
    confidence, hits = probs.max(axis=1), probs.argmax(axis=1) == labels
    print(f"{method}: {np.mean(~hits):.1%} errors when every image is answered; a risk of 2 % or less:")
    for delta in (0.05, None):
        risk, coverage = np.array(list(draws(confidence, hits, delta))).T
        how = "with the guarantee (delta = 5 %)" if delta else "by the errors that were observed"
        broken[delta].append(np.mean(risk > 0.02))
        print(f"  {how}: answers {coverage.mean():.0%}, errs {risk.mean():.2%}, broken in {broken[delta][-1]:.0%}")
guaranteed, observed = (max(shares) for shares in broken.values())
print(f"A risk of 2 % is exceeded in {guaranteed:.0%} of the draws with the guarantee, in {observed:.0%} without.")
