"""Images unlike the training data: corruptions, OOD images, directions and planes.

Images are uint8, (N, 3, 32, 32) for CIFAR and (N, 1, 8, 8) for digits, numpy or torch, and come back as the same kind.
The random numbers of image n depend on its index (`indices[n]`, by default n): a subset, another order, another batch
size or more processes give the same pixels.

    corrupt(images, "glass_blur", 3)                        one of the 19 corruptions of CIFAR-10-C, severity 1 to 5
    Corruption("glass_blur", 3, seed=1)(images, workers=2)  the same as a value, on two processes
    family("digits-test").names                             the shifts of a data set
    official("CIFAR-10-C", "glass_blur", 3)                 the published pixels and their labels
    ood_images(images, "permuted")                          as many images that show no class
    directions(images, levels), planes(triplets, …)         straight lines and planes through images
"""

from slova_bench.shifts.corruption import Corruption, corrupt, corrupt_digits, ood_images
from slova_bench.shifts.official import official
from slova_bench.shifts.severities import CIFAR, DIGITS, Family, family, frosted
from slova_bench.shifts.subspaces import directions, planes

__all__ = [
    "CIFAR",
    "DIGITS",
    "Corruption",
    "Family",
    "corrupt",
    "corrupt_digits",
    "directions",
    "family",
    "frosted",
    "official",
    "ood_images",
    "planes",
]
