"""Images unlike the training data: corruptions, OOD images, directions and planes.

Images are uint8, (N, 3, 32, 32) for CIFAR and (N, 1, 8, 8) for digits, numpy or torch, and come back as the same kind.
The random numbers of an image depend on its number in the data set: another batch size, or the first images only, give
the same pixels.

    corrupt(images, "glass_blur", 3)                        one of the 19 corruptions of CIFAR-10-C, severity 1 to 5
    corrupt(images, "rotation", 2, family=DIGITS)           a shift of the digits
    family("digits-test").names                             the shifts of a data set
    ood_images(images, "permuted")                          as many images that show no class
    directions(images, level), planes(triplets, …)          straight lines and planes through images
"""

from slova_bench.shifts.corruption import corrupt, ood_images
from slova_bench.shifts.severities import CIFAR, DIGITS, Family, family
from slova_bench.shifts.subspaces import directions, planes

__all__ = ["CIFAR", "DIGITS", "Family", "corrupt", "directions", "family", "ood_images", "planes"]
