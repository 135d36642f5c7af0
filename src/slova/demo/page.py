"""The page of the demo: pictures, what each classifier says of them, and sliders. One HTML file that loads nothing."""

from __future__ import annotations

import base64
from importlib import resources
from typing import Any

import numpy as np
from torch import Tensor

from slova._offline_page import enclosed, json_text, policy
from slova._validation import NONE_INDEX
from slova.demo.digits import TRAINING, VALIDATION
from slova.demo.results import EXAMPLES, PROMISE, RISKS, ROWS, SETTINGS, Group, Results
from slova.demo.training import SEED, STEPS
from slova.demo.verdict import verdicts

__all__ = ["COMMANDS", "content", "page"]

COMMANDS = {
    "slova fit val.npz -o model.slova": "calibrate the logits of your own model",
    "slova score test.npz --model model.slova --risk 0.05 -o answers.csv": "answer, or refuse, with a promised risk",
    "slova report test.npz --model model.slova": "one page on how good the answers are",
}
STYLES = ("page.css", "controls.css", "tables.css")
ABOUT = {
    "clean": "Pictures like those of the training. All three should answer.",
    "shifted": "Noise, blur, fading and dots, which no training has used. With strength the pictures become "
    "unreadable: a good network becomes less sure.",
    "unseen": "No network has seen an 8 or a 9. The right answer is NONE.",
    "glyphs": "Drawn by the demo. The right answer is NONE.",
    "noise": "Random pixels. The right answer is NONE. The outliers in the training of slova are similar to these.",
}
MODELS = {
    "slova": "the image recipe: slova.vision.augment, slova.ova_loss with cross_entropy=1.5, and slova.Classifier.fit",
    "softmax": "cross-entropy and a temperature",
    "softmax, same images": "cross-entropy and a temperature, with the degraded and mixed images of slova in "
    "training, and degraded ones in the fit of the temperature",
}


def page(results: Results) -> str:
    """The whole file as text."""
    ours, shared = resources.files("slova") / "demo" / "templates", resources.files("slova") / "report" / "templates"
    script = enclosed((ours / "demo.js").read_text(encoding="utf-8"))
    style = [(shared / name).read_text(encoding="utf-8") for name in STYLES]
    parts = {
        "policy": policy([script]),
        "style": "\n".join([*style, (ours / "demo.css").read_text(encoding="utf-8")]),
        "data": json_text(content(results)),
        "script": script,
    }
    html = (ours / "demo.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        html = html.replace("{{ " + name + " }}", text)
    return html


def content(results: Results) -> dict[str, Any]:
    """Everything that the page shows; it computes nothing but the choice of a label by a threshold."""
    names = list(results.answers)
    settings = range(len(SETTINGS))
    return {
        "models": [{"name": name, "about": MODELS[name]} for name in names],
        "risks": RISKS,
        "promise": PROMISE,
        "thresholds": [list(results.thresholds[name]) for name in names],
        "least": [results.least[name] for name in names],
        "mix": [[results.risk(name, setting) for setting in settings] for name in names],
        "groups": [_group(results, group) for group in results.groups],
        "strengths": [_group(results, group) for group in results.strengths],
        "verdicts": [verdicts(results, setting) for setting in settings],
        "facts": _facts(results),
        "commands": list(COMMANDS.items()),
    }


def _group(results: Results, group: Group) -> dict[str, Any]:
    shares = [[results.shares(name, group, setting) for setting in range(len(SETTINGS))] for name in results.answers]
    found = [results.answers[name][group.name] for name in results.answers]
    known = group.labels.numpy() != NONE_INDEX
    right = [float((np.asarray(one.top) == group.labels.numpy()).mean()) for one in found]
    columns = [
        list(zip(*(np.asarray(part).tolist() for part in (one.top, *list(one)[1:])), strict=True)) for one in found
    ]
    return {
        "name": group.name,
        "title": group.title,
        "about": ABOUT.get(group.name, ABOUT["shifted"]),
        "rows": len(group.labels),
        "known": bool(known.any()),
        "shares": shares,
        "accuracy": right,
        "confidence": [float(np.asarray(one.confidence).mean()) for one in found],
        "pictures": [
            {
                "pixels": _pixels(group.images[row]),
                "truth": int(group.labels[row]),
                "answers": [column[row] for column in columns],
            }
            for row in range(EXAMPLES)
        ],
    }


def _pixels(image: Tensor) -> str:
    """The bytes of a picture, dark on light."""
    return base64.b64encode(bytes((255 - 255 * image).round().byte().flatten().tolist())).decode()


def _facts(results: Results) -> list[str]:
    mix = ", ".join(f"{ROWS[group.name]} of {group.title.lower()}" for group in results.groups)
    return [
        f"One run with seed {SEED}, which was not chosen by its result. Another seed or number of threads gives other "
        "numbers.",
        f"The networks have one architecture and {STEPS} steps each; there are {TRAINING} digits for training and "
        f"{VALIDATION} for validation. No network and no temperature has seen the pictures on this page.",
        "At face value: a network answers where its confidence is at least 1 - risk.",
        f"Guaranteed: the threshold of each network is chosen on {results.chosen_on} other pictures with known truth "
        f"({mix}), so that at most this share of its answers to such a mix is wrong, with 95 % certainty.",
        "An answer to a picture of no class is wrong. The last row of the table is about the same mix.",
        "The pictures shown are the first ones of each kind.",
    ]
