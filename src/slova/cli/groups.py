"""Groups of commands that are imported when they are needed, here or from plug-ins."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import click

__all__ = ["LazyGroup", "PluginGroup"]


class LazyGroup(click.Group):
    """A group that knows where each of its commands is: `places={"fit": "slova.cli.fit:fit"}`."""

    def __init__(self, *args: Any, places: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.places = dict(places)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.places:
            return None
        found: click.Command = pkgutil.resolve_name(self.places[name])
        return found


class PluginGroup(LazyGroup):
    """A lazy group with the commands that installed distributions add to it by entry points."""

    def __init__(self, *args: Any, entry_points: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.entry_points = entry_points

    def list_commands(self, context: click.Context) -> list[str]:
        return [*self.places, *sorted(self._plugins().keys() - self.places.keys())]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self.places:
            return super().get_command(context, name)
        plugin = self._plugins().get(name)
        return None if plugin is None else _loaded(plugin)

    def _plugins(self) -> dict[str, metadata.EntryPoint]:
        return {point.name: point for point in metadata.entry_points(group=self.entry_points)}


def _loaded(plugin: metadata.EntryPoint) -> click.Command:
    """The command of a plug-in. A plug-in that cannot be imported becomes a command that says so when it is run: it
    must not break the help of the others."""
    try:
        found = plugin.load()
        if isinstance(found, click.Command):
            return found
        problem = f"{plugin.value} is not a click command"
    except Exception as error:
        problem = f"{plugin.value} cannot be imported ({type(error).__name__}: {error})"
    return _broken(plugin, problem)


def _broken(plugin: metadata.EntryPoint, problem: str) -> click.Command:
    owner = "" if plugin.dist is None else f" of {plugin.dist.name} {plugin.dist.version}"

    def fail() -> None:
        raise click.ClickException(f"the command {plugin.name}{owner} is broken: {problem}")

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(
        plugin.name, callback=fail, add_help_option=False, context_settings=settings, short_help="(cannot be loaded)"
    )
