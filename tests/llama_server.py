"""llama.cpp's OpenAI-style server over a GGUF file, as a process of its own.

Run as `python llama_server.py FILE`: prints the address, serves until standard input
ends. `LlamaServer(path)` starts and stops it.
"""

from __future__ import annotations

import subprocess
import sys
import threading


class LlamaServer:
    """Starts the server on a free port; `url` is its address. Stopped by `close()`."""

    def __init__(self, path, *, wait=120):
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        late = threading.Timer(wait, self._process.kill)
        late.start()
        self.url = self._process.stdout.readline().strip()
        late.cancel()
        if not self.url.startswith("http://"):
            self.close()
            raise RuntimeError(f"the server did not start in {wait} seconds, or failed")

    def close(self):
        """Return the exit status of the server, stopped in order."""
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def serve(path):
    """Serve a GGUF file with one slot: a score does not depend on who asks beside it."""
    import socket

    import xllamacpp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx, params.n_parallel = 8192, 1
    params.verbosity = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
