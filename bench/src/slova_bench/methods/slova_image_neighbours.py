"""SLOVA for images with one more distance in the calibrator: that to the tenth nearest validation image, in features
of unit length (Sun et al. 2022, who use training images and the distance alone). The weights are those of the image
recipe."""

from dataclasses import replace
from functools import partial

from slova_bench.methods import slova_image
from slova_bench.neighbours import posterior_with_neighbours, with_neighbours

METHOD = replace(
    slova_image.METHOD,
    name="slova_image_neighbours",
    adapt=with_neighbours,
    fit=partial(posterior_with_neighbours, head="slova"),
)
