"""Parts of HTML files that load nothing: they may run the scripts they contain and no others, because their content
security policy tells the browser so."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any


def enclosed(script: str) -> str:
    """A script whose names are its own, and which cannot end the element it stands in."""
    return f'(() => {{\n"use strict";\n{script}\n}})();'.replace("</script", "<\\/script")


def policy(scripts: Sequence[str]) -> str:
    """The content security policy of a page with these scripts."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def json_text(content: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
