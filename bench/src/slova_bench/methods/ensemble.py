"""Five softmax networks, their probabilities averaged (Lakshminarayanan et al. 2017), without adversarial training."""

from dataclasses import replace

from slova_bench.methods import softmax

METHOD = replace(softmax.METHOD, name="ensemble", members=5)
