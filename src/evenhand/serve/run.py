"""The process: a socket bound before the model loads, uvicorn, and how it ends."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from evenhand.errors import UsageError
from evenhand.serve import logs
from evenhand.serve.app import Service
from evenhand.serve.stale import Stale

# Seconds that open connections have to be closed after the last answer.
_FAREWELL = 1
# A connection may stay in one stage for so many times the timeout of a request.
_PATIENCE = 2
BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; connections wait until it is served.

    It listens at once: of two sockets that are only bound, both might get the port.

    Raises:
        UsageError: there is no such address, or something else listens there.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"port must lie between 0 and 65535, got {port}")
    sock = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        if sock is not None:
            sock.close()
        raise UsageError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return sock


def address_of(sock: socket.socket) -> str:
    """Return the address of a bound socket as a URL."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if sock.family is socket.AF_INET6 else f"http://{host}:{port}"


class Draining(uvicorn.Server):
    """A server that finishes what it has accepted, within a time, before it ends.

    At the first SIGTERM or SIGINT fresh requests get 503; at the second it ends at once.

    Attributes:
        unfinished: requests that were open when the time was up.
    """

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        """Serve a service; `on_ready` is called once requests are accepted."""
        super().__init__(config)
        self._service = service
        self._on_ready = on_ready
        self._until: float | None = None
        self._told = False
        self.unfinished = 0
        self._stale = Stale(_PATIENCE * service.serving.limits.timeout)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain, or end at once."""
        if self._until is not None:
            self._until = 0.0
            return
        self._until = time.monotonic() + self._service.serving.limits.drain
        self._service.state.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end: several times a second."""
        if not self._told:
            self._told = True
            self._on_ready()
        if closed := self._stale.close(self.server_state.connections, time.monotonic()):
            logs.say("closed", connections=closed)
        state = self._service.state
        if self._until is not None and (not state.active or time.monotonic() >= self._until):
            self.unfinished = state.active
            # Those that still wait are told so; what is being scored cannot be stopped.
            self._service.close(0.0)
            self.should_exit = True
        return await super().on_tick(counter)


def server_of(service: Service, on_ready: Callable[[], None] = lambda: None) -> Draining:
    """Return a server of a service; its `run(sockets=[...])` takes a socket that listens."""
    config = uvicorn.Config(
        service.app,
        log_config=None,
        access_log=False,
        # Its headers have a limit, which those of the other one that may be installed have not.
        http="h11",
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_FAREWELL,
    )
    return Draining(config, service, on_ready)


def run(service: Service, sock: socket.socket, on_ready: Callable[[], None] = lambda: None) -> int:
    """Serve until SIGTERM or SIGINT, and return how many requests were left unfinished."""
    logs.set_up()
    server = server_of(service, on_ready)
    try:
        server.run(sockets=[sock])
    finally:
        service.close(0.0)
        with contextlib.suppress(OSError):
            sock.close()
    logs.say("stopped", unfinished=server.unfinished)
    return server.unfinished
