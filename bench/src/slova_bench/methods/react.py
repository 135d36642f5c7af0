"""ReAct (Sun et al. 2021): features are clipped at the 90th percentile of those of training images."""

from dataclasses import replace

import torch
from torch import nn

from slova_bench.method import Splits
from slova_bench.methods import softmax
from slova_bench.networks import last_linear, with_last
from slova_bench.stable import stable


@stable("react")
@torch.no_grad()
def adapt(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    some = splits.training.images[:2000].to(last_linear(network).weight.device).float() / 255
    features = torch.cat([network[:-1](some[i : i + 500]) for i in range(0, len(some), 500)])
    ceiling = float(torch.quantile(features.flatten().float(), 0.9))
    return with_last(network, nn.Hardtanh(-torch.inf, ceiling), network[-1])


METHOD = replace(softmax.METHOD, name="react", adapt=adapt)
