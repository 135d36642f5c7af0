"""The type checker that `test_types.py` gives to jaxtyping."""

from typing import Self

from beartype import beartype


def check(function):
    """beartype, which checks one function at a time here and so cannot know what `Self` is."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if hint not in ("Self", Self)}
    return beartype(function)
