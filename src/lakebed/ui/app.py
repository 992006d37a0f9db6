"""The web application: endpoints and pages, each request checked, limited in time, and answered without internals."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lakebed.errors import LakebedError, NotFound
from lakebed.ui.api import ENDPOINTS, Endpoint, Explorer, Text
from lakebed.ui.guard import BodyTooLarge, Guard
from lakebed.ui.openapi import document
from lakebed.ui.questions import Question
from lakebed.ui.static_files import static_file

log = logging.getLogger(__name__)

# What an answer may take. Each statement has the budget of the analysis besides.
SECONDS = 60.0
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "/explorer.css": ("explorer.css", "text/css; charset=utf-8"),
}


def make_app(explorer: Explorer, *, token: str, port: int, seconds: float = SECONDS) -> Guard:
    """The application behind its guard."""
    routes = [Route(one.path, _answering(explorer, one, seconds), methods=[one.method]) for one in ENDPOINTS]
    routes.append(Route("/api/openapi.json", _describe, methods=["GET"]))
    routes += [Route(path, _serving(*page), methods=["GET"]) for path, page in PAGES.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refuse_request, Exception: _fail})
    return Guard(app, token=token, port=port)


def _answering(explorer: Explorer, endpoint: Endpoint, seconds: float) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            question = await _read(request, endpoint)
        except ValidationError as error:
            return _refusal(400, "InvalidRequest", _told(error), "Look at /api/openapi.json.")
        try:
            with anyio.fail_after(seconds):
                found = await anyio.to_thread.run_sync(
                    lambda: _encode(endpoint.call(explorer, question)), abandon_on_cancel=True
                )
        except TimeoutError:
            message = f"the answer takes longer than {seconds:g} seconds"
            return _refusal(503, "TooSlow", message, "Ask for a smaller part.")
        except LakebedError as error:
            status = 404 if isinstance(error, NotFound) else 400
            return _refusal(status, type(error).__name__, error.message, error.remedy)
        return found

    return answer


async def _read(request: Request, endpoint: Endpoint) -> Question:
    """What the request says, as its endpoint takes it."""
    if endpoint.method == "POST":
        return endpoint.question.model_validate_json(await request.body())
    lists = {name for name, field in endpoint.question.model_fields.items() if "list" in str(field.annotation)}
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in lists:
            given.setdefault(name, []).append(value)
        else:
            # a name that is given twice is no text, and is refused as such
            given[name] = value if name not in given else [given[name], value]
    return endpoint.question.model_validate(given)


def _told(error: ValidationError) -> str:
    """What is wrong, without the values: they may be long, and are known to who sent them."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = [f"{'.'.join(map(str, one['loc'])) or 'the body'}: {one['msg']}" for one in found[:3]]
    return "; ".join(parts) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def _encode(found: object) -> Response:
    if isinstance(found, Text):
        headers = {"content-disposition": f'attachment; filename="{found.name}"'}
        return Response(found.content, media_type=found.media_type, headers=headers)
    return Response(to_json(found), media_type="application/json")


def _refusal(status: int, kind: str, message: str, remedy: str | None) -> Response:
    body = {"error": {"type": kind, "message": message, "remedy": remedy}}
    return Response(to_json(body), status_code=status, media_type="application/json")


async def _refuse_request(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: an address that is not there, a method that it does not take."""
    assert isinstance(error, HTTPException)
    refusal = _refusal(error.status_code, "Refused", error.detail, None)
    refusal.headers.update(error.headers or {})
    return refusal


async def _fail(request: Request, error: Exception) -> Response:
    if isinstance(error, BodyTooLarge):
        raise error
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _refusal(500, "InternalError", "the explorer failed on this request", "Its log on the terminal says why.")


async def _describe(request: Request) -> Response:
    return Response(to_json(document()), media_type="application/json")


def _serving(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return Response(static_file(name), media_type=media_type)

    return serve
