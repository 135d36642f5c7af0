"""The OpenAPI description of bodies and responses. Bodies are not validated by it, which would be slow for many
numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["ABOUT", "INFER", "PREDICT"]

ABOUT = (
    "A calibrated classifier with a reject option: label (-1 or null is NONE), confidence (the calibrated probability "
    "of the most probable class), none (that no class fits), ambiguous (that it is another class); they sum to one."
)


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _body(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def _responses(schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    error = {"application/json": {"schema": _object(["error"], error=TEXT)}}
    descriptions = {
        400: "Invalid request",
        401: "The token is missing or wrong",
        408: "The body was sent too slowly",
        413: "Too large",
        503: "Overloaded: try again after Retry-After seconds",
    }
    errors: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": error} for status, text in descriptions.items()
    }
    return {200: {"description": "The predictions", "content": {"application/json": {"schema": schema}}}, **errors}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
ROW = _object(
    ["label", "confidence", "none", "ambiguous"],
    label={"description": "the class, by name or number; null is NONE", "type": ["string", "integer", "null"]},
    confidence=PROBABILITY,
    none=PROBABILITY,
    ambiguous=PROBABILITY,
)
ROWS = {"description": "rows of numbers; for a model with several inputs an object with the rows of each"}
TENSOR = _object(
    ["name", "shape", "datatype"],
    name=TEXT,
    shape=_list({"type": "integer"}),
    datatype={"type": "string", "description": "FP32, FP64, INT64, …"},
    data={"description": "numbers, flat or nested; or binary_data_size in the parameters, and bytes after the JSON"},
    parameters={"type": "object"},
)
PREDICT: dict[str, Any] = {
    "openapi_extra": _body(
        _object(["inputs"], inputs=ROWS, reject=PROBABILITY) | {"additionalProperties": False},
        {"inputs": [[4.0, -4.0, -5.0]], "reject": 0.5},
    ),
    "responses": _responses(_list(ROW)),
}
EXAMPLE = {"inputs": [{"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": [4.0, -4.0, -5.0]}]}
INFER: dict[str, Any] = {
    "openapi_extra": _body(
        _object(
            ["inputs"],
            id=TEXT,
            inputs=_list(TENSOR),
            outputs=_list(_object(["name"], name=TEXT, parameters={"type": "object"})),
            parameters={"type": "object", "description": "reject: a threshold for this request; binary_data_output"},
        ),
        EXAMPLE,
    ),
    "responses": _responses(_object(["model_name", "outputs"], model_name=TEXT, id=TEXT, outputs=_list(TENSOR))),
}
