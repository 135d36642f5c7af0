"""Images that are not what the network was trained on: corruptions, foreign images, directions and planes.

Images are uint8, (N, 3, 32, 32) for CIFAR and (N, 1, 8, 8) for digits, numpy or torch, and come back as the same kind.
Image n has a number (`indices[n]`, n itself unless told), and its number decides its randomness: a subset, another
order, another batch size or more processes give the same pixels.

    corrupt(images, "glass_blur", 3)                        one of the 19 corruptions of CIFAR-10-C, severity 1 to 5
    Corruption("glass_blur", 3, seed=1)(images, workers=2)  the same as a value, on two processes
    family("digits-test").names                             which shifts has this data set?
    official("CIFAR-10-C", "glass_blur", 3)                 the published pixels and their labels
    foreign(images, "permuted")                             as many images that show nothing
    directions(images, levels), planes(triplets, …)         straight lines and planes through images
"""

from slova_bench.shifts.corruption import Corruption, corrupt, corrupt_digits, foreign
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
    "foreign",
    "frosted",
    "official",
    "planes",
]
