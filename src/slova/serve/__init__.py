"""Serve a model over HTTP: the Open Inference Protocol v2, a plain JSON route, metrics, and an interactive page.

    app = application(load_model(Path("model.onnx")))     # an ASGI application, for any server
    serve(app, listen("127.0.0.1", 8000))                 # or uvicorn with time limits for slow clients

Requests are read and validated on the event loop, large ones in a thread. Valid ones are queued, and one thread runs
the model on batches of the queued rows.
"""

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError('slova.serve needs FastAPI, uvicorn and more: pip install "slova[serve]"') from error

from slova.serve.application import application
from slova.serve.limits import Batching, Limits
from slova.serve.load import load_model
from slova.serve.model import Model, ModelError, Tensor
from slova.serve.server import listen, serve

__all__ = ["Batching", "Limits", "Model", "ModelError", "Tensor", "application", "listen", "load_model", "serve"]
