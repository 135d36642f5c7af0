"""The OpenAPI description of bodies and responses, of which FastAPI itself validates nothing: many numbers would take
it long."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from slova.serve.requests import Infer, Predict, Share

__all__ = ["ABOUT", "INFER", "PREDICT"]

ABOUT = (
    "A calibrated classifier with a reject option: label (-1 or null is NONE), confidence (the calibrated probability "
    "of the most probable class), none (that no class fits), ambiguous (that it is another class); they sum to one."
)
ERRORS = {
    400: "Invalid request",
    401: "The token is missing or wrong",
    408: "The body was sent too slowly",
    413: "Too large",
    503: "Overloaded: try again after Retry-After seconds",
}


class Problem(BaseModel):
    error: str


class Row(BaseModel):
    label: Annotated[str | int | None, Field(description="the class, by name or number; null is NONE")]
    confidence: Share
    none: Share
    ambiguous: Share


class OutputTensor(BaseModel):
    name: str
    shape: list[int]
    datatype: str
    data: list[float | None] | None = None
    parameters: dict[str, int] | None = None


class InferAnswer(BaseModel):
    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[OutputTensor]


def _described(body: type[BaseModel], answer: Any, example: dict[str, Any]) -> dict[str, Any]:
    """The options of a route."""
    schema = body.model_json_schema()
    content = {"schema": _inlined(schema, schema.get("$defs", {})), "example": example}
    errors = {status: {"description": text, "model": Problem} for status, text in ERRORS.items()}
    return {
        "openapi_extra": {"requestBody": {"required": True, "content": {"application/json": content}}},
        "responses": {200: {"description": "The predictions", "model": answer}, **errors},
    }


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    """The schema with its parts in it: there is no place beside it for them."""
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in schema.items() if key != "$defs"}


PREDICT = _described(Predict, list[Row], {"inputs": [[4.0, -4.0, -5.0]], "reject": 0.5})
LOGITS = {"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": [4.0, -4.0, -5.0]}
INFER = _described(Infer, InferAnswer, {"inputs": [LOGITS]})
