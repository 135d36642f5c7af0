"""The type checker that `test_types.py` gives to jaxtyping."""

from typing import Self

from beartype import beartype


def check(function):
    """beartype, without the hints that it cannot know: `Self`, and names imported only for static checkers. Private
    modules state no shapes, and their functions are called a thousand times in a fit."""
    if function.__module__.rpartition(".")[2].startswith("_") and function.__module__ != "slova._head":
        return function
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if _is_known(hint, function)}
    return beartype(function)


def _is_known(hint, function):
    try:
        return (eval(hint, function.__globals__) if isinstance(hint, str) else hint) is not Self
    except NameError:
        return False
