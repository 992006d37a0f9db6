"""Who may speak with the explorer: its own page on this machine, with the token of its URL. Everybody else is refused.

Other programs of this machine and pages of other sites can send requests to a local port; a name that points to
127.0.0.1 (DNS rebinding) makes a foreign page look local. So: Host and Origin must be ours, and the token must come
along, in the cookie that the first visit sets or as a bearer.
"""

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 8_000_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class BodyTooLarge(Exception):
    """A body that did not say how large it is has turned out to be too large."""


class Guard:
    """Lets the explorer's own page through, limits bodies, and puts the policy on every answer."""

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # cookies know no ports: two explorers of one machine keep theirs apart by name
        self.cookie = f"lakebed_ui_{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        guarded = _with_headers(send)
        if headers.get("host", "") not in self._hosts:
            await _refuse(guarded, 403, "this host is not the explorer's", "Open the address that it has printed.")
            return
        origin = headers.get("origin")
        foreign_fetch = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if (origin is not None and origin not in {f"http://{host}" for host in self._hosts}) or (
            foreign_fetch and scope["path"] != "/"
        ):
            await _refuse(guarded, 403, "the request comes from another site", "Use the explorer's own page.")
            return
        if scope["path"] == "/" and (given := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            await self._welcome(guarded, given[0])
            return
        if not self._is_known(headers):
            await _refuse(
                guarded, 401, "the token is missing or wrong", "Open the address that `lakebed ui` has printed."
            )
            return
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            await _refuse(guarded, 413, f"the body is larger than {LARGEST_BODY:,} bytes", "Analyse less SQL at once.")
            return
        try:
            await self._app(scope, _limited(receive), guarded)
        except BodyTooLarge:
            await _refuse(guarded, 413, f"the body is larger than {LARGEST_BODY:,} bytes", "Analyse less SQL at once.")

    def _is_known(self, headers: dict[str, str]) -> bool:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        return any(self._is_token(text) for text in (bearer, morsel.value if morsel else ""))

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8"), self._token.encode("utf-8"))

    async def _welcome(self, send: Send, given: str) -> None:
        """Puts the token into a cookie and takes it out of the address, which histories and screenshots keep."""
        if not self._is_token(given):
            await _refuse(send, 401, "the token is wrong", "Open the address that `lakebed ui` has printed.")
            return
        cookie = f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode("latin-1"))]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return guarded


def _limited(receive: Receive) -> Receive:
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            raise BodyTooLarge
        return message

    return limited


async def _refuse(send: Send, status: int, message: str, remedy: str) -> None:
    body = json.dumps({"error": {"type": "Refused", "message": message, "remedy": remedy}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
