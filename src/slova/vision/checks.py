"""What functions of images accept: images, their labels, kinds of changes and shares, checked at the public call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from slova._validation import NONE_INDEX

__all__ = ["check_image_labels", "check_images", "check_kinds", "check_number"]

Kind = TypeVar("Kind", bound=Callable[..., Any])
BYTES = 2.0  # values up to more than this, and none negative, are those of images of 0 to 255
DIVIDE = "divide images of 0 to 255 by 255"


def check_images(
    images: Any, advice: str, *, values: bool = True, slack: float = 0.0, advice_on_bytes: str = DIVIDE
) -> None:
    """Images (N, C, H, W), floats in [0, 1] or outside by at most `slack`; `values=False` skips the values, because
    reading them synchronises the device."""
    _check_tensor(images, "images", "torch.stack")
    if not images.is_floating_point() or images.ndim != 4:
        remedy = "" if images.is_floating_point() else f": {advice_on_bytes}"
        given = f"{images.dtype} {tuple(images.shape)}{remedy}"
        raise ValueError(f"images must be floats (N, C, H, W) in [0, 1], got {given}")
    if values and images.numel():
        low, high = float(images.detach().min()), float(images.detach().max())
        if low != low:
            count = int(images.isnan().flatten(1).any(1).sum())
            raise ValueError(f"images must not be NaN, got NaN in {count} of {len(images)} images")
        if not (low >= -slack and high <= 1 + slack):
            advice = advice_on_bytes if low >= -slack and high > BYTES else advice
            raise ValueError(f"images must lie in [0, 1], got values from {low:.3g} to {high:.3g}: {advice}")


def check_image_labels(labels: Any, images: Tensor) -> None:
    """One whole number per image, of a dtype that can hold NONE."""
    _check_tensor(labels, "labels", "torch.tensor")
    rows = labels.ndim == 2 and len(labels) == len(images)
    remedy = ": one-hot and soft labels are not possible, use labels.argmax(1)" if rows else ""
    if labels.is_floating_point() or labels.is_complex():
        remedy = remedy or ": use labels.long()"
        raise TypeError(f"labels must be integers (N,), got {labels.dtype} {tuple(labels.shape)}{remedy}")
    if labels.shape != images.shape[:1]:
        raise ValueError(f"labels {tuple(labels.shape)} do not match images {tuple(images.shape)}{remedy}")
    if not labels.dtype.is_signed:
        raise TypeError(f"labels must have a dtype that can hold NONE ({NONE_INDEX}), got {labels.dtype}")


def check_kinds(kinds: Iterable[Kind], name: str) -> tuple[Kind, ...]:
    """Functions that make images of images and a generator."""
    expected = f"{name} must be a list of functions of images and a generator"
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        remedy = ": put it in a list" if callable(kinds) else ""
        raise TypeError(f"{expected}, got {_named(kinds)}{remedy}")
    found = tuple(kinds)
    for kind in found:
        if not callable(kind):
            raise TypeError(f"{expected}, got {_named(kind)} in it")
    return found


def check_number(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {_named(value)}")


def _named(value: Any) -> str:
    """A value for a message: short ones as they are, others by what they are."""
    if value is None or isinstance(value, str | bool):
        return repr(value)[:80]
    return f"the function {value.__name__}" if hasattr(value, "__name__") else f"a value of type {type(value).__name__}"


def _check_tensor(value: Any, name: str, of_list: str) -> None:
    if isinstance(value, Tensor):
        return
    given, remedy = type(value).__name__, ""
    if isinstance(value, np.ndarray):
        given, remedy = "a NumPy array", f": use torch.from_numpy({name})"
    elif isinstance(value, list | tuple):
        remedy = f": use {of_list}({name})"
    raise TypeError(f"{name} must be a torch.Tensor, got {given}{remedy}")
