"""Pages of the site that are made when it is built: the reference by module, the examples, and files of the root.

The markdown in docs/ is written to be read in the repository as well, so links to files outside docs/ become links to
these pages here.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
SHIM = "https://unpkg.com/iframe-worker/shim"
MODULES = {
    "Classifiers": ["slova.classifier", "slova.scorer", "slova.sklearn", "slova.prediction", "slova.evaluation"],
    "Training": ["slova.losses", "slova.heads", "slova.retrofit", "slova.ensemble"],
    "Other tasks": ["slova.multilabel", "slova.extreme"],
    "Images": [
        "slova.vision",
        "slova.vision.augment",
        "slova.vision.degradations",
        "slova.vision.outliers",
        "slova.vision.held_out_degradations",
        "slova.vision.held_out_outliers",
        "slova.vision.shift_aware",
    ],
    "Calibration": ["slova.calibration", "slova.calibration.module"],
    "Guarantees": ["slova.thresholds", "slova.prediction_sets"],
    "Metrics": ["slova.metrics", "slova.metrics.plotting", "slova.metrics.torchmetrics"],
    "Deployment": [
        "slova.export",
        "slova.batch",
        "slova.serve",
        "slova.serve.ray",
        "slova.report.arrays",
        "slova.artifact",
    ],
}
# Names that modules share with each other and users do not call: they are not in the reference.
INTERNAL = {
    "slova.evaluation": ("Conformity", "ece_of", "selection_of"),
    "slova.heads": ("top_and_none",),
    "slova.vision.shift_aware": ("FitRows", "Outputs", "ShiftOptions", "fit_rows"),
    "slova.artifact": ("atomic_path", "loads", "pack", "pack_parts", "unpack", "unpack_parts"),
}
# What the search puts first: pages that answer a question, then pages that look something up.
BOOST = {
    "glossary": 6.0, "troubleshooting": 2.0, "export": 3.0, "choosing-a-calibrator": 3.0, "other-libraries": 3.0,
    "when-not": 3.0, "selective": 2.0, "tutorials": 1.5, "measurements": 0.2, "results": 0.2, "reference": 0.3,
    "changelog": 0.1, "examples": 0.5, "architecture": 0.2, "contributing": 0.2, "comparison": 0.3, "deviations": 0.2,
}  # fmt: skip


def on_config(config: Any) -> Any:
    """The modules in the navigation."""
    [reference] = [entry for entry in config.nav if "Reference" in entry]
    sections = [{name: [{module: page_of(module)} for module in modules]} for name, modules in MODULES.items()]
    reference["Reference"] = [{"Modules": "reference/index.md"}, *sections, {"Command line": "reference/cli.md"}]
    return config


def on_files(files: Any, config: Any) -> Any:
    for name, text in made_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to files outside docs/, and details whose content is markdown."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    page.meta["search"] = {"boost": BOOST.get(re.split(r"[/.]", page.file.src_uri)[0], 1.0)}
    up = "../" * page.file.src_uri.count("/")
    return rewritten(markdown, up).replace("<details>", "<details markdown>")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The theme loads a script for offline search from another host; ours lies beside the pages."""
    return output.replace(SHIM, "../" * page.file.src_uri.count("/") + "offline-search.js")


def on_post_template(output: str, template_name: str, config: Any) -> str:
    return output.replace(SHIM, "offline-search.js")


def rewritten(markdown: str, up: str) -> str:
    """The markdown of a page that lies `up` from docs/, with links into the site."""
    outside = r"\]\((?:\.\./)+"
    markdown = re.sub(outside + r"examples/(\w+)\.py\)", rf"]({up}examples.md#\1)", markdown)
    markdown = re.sub(outside + r"bench/README\.md\)", rf"]({up}comparison.md)", markdown)
    for name, target in (*ROOT_PAGES.items(), ("README.md", "index.md")):
        markdown = re.sub(outside + re.escape(name) + r"\)", f"]({up}{target})", markdown)
    return markdown


def made_pages() -> dict[str, str]:
    """The text of each page by its path."""
    pages = {target: of_root(ROOT / name) for name, target in ROOT_PAGES.items()}
    modules = [module for names in MODULES.values() for module in names]
    pages |= {page_of(module): reference(module) for module in modules}
    return pages | {
        "examples.md": examples(),
        "reference/index.md": index(),
        "reference/cli.md": commands(),
    }


def page_of(module: str) -> str:
    return f"reference/{module}.md"


def public_names(module: str) -> list[str]:
    """The names on the page of a module."""
    return [name for name in importlib.import_module(module).__all__ if name not in INTERNAL.get(module, ())]


def reference(module: str) -> str:
    options = f"    options:\n      members: {public_names(module)}\n" if module in INTERNAL else ""
    return f"# {module}\n\n::: {module}\n{options}"


def of_root(path: Path) -> str:
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for name, target in ROOT_PAGES.items():
        text = text.replace(f"]({name})", f"]({target})")
    return text


def examples() -> str:
    """Every example with its code, below a heading that is its name."""
    parts = ["# Examples\n\nScripts of at most 40 lines, which run offline in seconds. The tests run all of them.\n"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        what = ast.get_docstring(ast.parse(text)) or ""
        parts.append(f"## {path.stem}\n\n{what}\n\n```python\n{text}```\n")
    return "\n".join(parts)


def index() -> str:
    """The modules with the first sentence of each, then the shapes in signatures."""
    lines = ["# Reference\n", "The public names by module, from the docstrings.\n"]
    for section, modules in MODULES.items():
        lines += [f"**{section}**\n", "| module | |", "|---|---|"]
        lines += [f"| [`{name}`]({name}.md) | {first_sentence(name)} |" for name in modules]
        lines += [""]
    return "\n".join([*lines, shapes()])


def first_sentence(module: str) -> str:
    path = ROOT / "src" / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=[.:])\s", " ".join(text.split("\n\n")[0].split()))[0].rstrip(":.")


def shapes() -> str:
    """A table of the names for arrays in signatures."""
    known = importlib.import_module("slova._types")
    lines = [
        f"| `{name}` | {dtype} | {axes.replace('*batch', '...').replace(' ', ', ')} |"
        for name, (_, dtype, axes) in known.SHAPES.items()
    ]
    return "\n".join(["## Shapes of arrays\n", known.__doc__, "| name | dtype | axes |", "|---|---|---|", *lines, ""])


def commands() -> str:
    """The help of every command of the library."""
    import click

    from slova.cli import main

    parts = ["# Command line\n\nThe help of `slova` and of each command. `slova bench` comes with slova-bench.\n"]
    for name in ("", "fit", "score", "metrics", "report", "export", "serve"):
        words = f"slova {name}".strip()
        context = click.Context(main, info_name="slova", max_content_width=100)
        command = main.get_command(context, name) if name else main
        own = click.Context(command, info_name=name, parent=context, max_content_width=100) if name else context
        text = own.get_help() if name else main.help.partition("\n\n")[2].strip()
        parts.append(f"## {words}\n\n```text\n{text}\n```\n" if name else f"{text}\n")
    return "\n".join(parts)
