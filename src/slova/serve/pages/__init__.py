"""Two self-contained pages: an interactive form for predictions, and the OpenAPI description.

FastAPI's own documentation page loads its scripts from another host.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import FastAPI, Response
from starlette.exceptions import HTTPException

__all__ = ["add_pages"]

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
FILES = ("try.html", "try.js", "docs.html", "docs.js", "page.css")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_pages(app: FastAPI) -> None:
    folder = files(__name__)
    found = {name: folder.joinpath(name).read_bytes() for name in FILES}

    @app.get("/pages/{name}", include_in_schema=False)
    async def page(name: str) -> Response:
        if name not in found:
            raise HTTPException(404)
        return Response(found[name], media_type=KINDS[name.rpartition(".")[2]], headers=HEADERS)

    @app.get("/", include_in_schema=False)
    async def try_it() -> Response:
        return await page("try.html")

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return await page("docs.html")
