"""Opens a page in headless Chromium and tells what it did: the page as it then stood, what it asked for, what was refused."""

import contextlib
import http.server
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

CHROMIUM = shutil.which("chromium")
WHY_NOT = "" if CHROMIUM else "no chromium on the PATH; tools/bootstrap --browser installs it"
SECONDS_ALLOWED = 120
OF_CHROMIUM = (".googleapis.com", ".google.com")
"""Whom Chromium asks of its own accord, about updates and the time. No page of ours may name them: `html_pages.checked`."""
OPTIONS = [
    "--headless",
    "--no-sandbox",  # else it does not start as root, or in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--autoplay-policy=no-user-gesture-required",
    "--enable-logging=stderr",  # refusals by a policy are among what a page tells its console
    "--proxy-bypass-list=<-loopback>",
]
PRINTING = [
    "--virtual-time-budget=3000",  # ms of the page's own clock, which runs on while it waits for nothing
    "--dump-dom",
]


@dataclass(frozen=True)
class Opened:
    """dom: HTML, written by the browser from what it made of the page; requests: addresses asked for; refused: by the policy."""

    dom: str
    requests: list[str]
    refused: list[str]

    @property
    def paths(self) -> set[str]:
        """Of the requests, without the slash."""
        return {_path(address) for address in self.requests}


class _Witness(http.server.BaseHTTPRequestHandler):
    """A proxy for all names and schemes. It notes each request and answers with an empty picture of text."""

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_CONNECT = do_HEAD = do_OPTIONS = do_POST = do_GET

    def log_message(self, *_) -> None:
        pass


@contextlib.contextmanager
def _witness():
    """The server, on a port of its own."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Witness) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def _chromium(page: Path, *options: str):
    """The browser's process with a file open, and the server to which every request of it goes, to whatever host."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _witness() as witness:
        of_this = [f"--user-data-dir={profile}", f"--proxy-server=http://127.0.0.1:{witness.server_port}"]
        command = [CHROMIUM, *OPTIONS, *options, *of_this, page.resolve().as_uri()]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, encoding="utf-8", start_new_session=True, **streams) as process:
            try:
                yield process, witness
            finally:  # its children too
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def opened(page: Path) -> Opened:
    """What a file does when a reader opens it."""
    with _chromium(page, *PRINTING) as (process, witness):
        dom, log = process.communicate(timeout=SECONDS_ALLOWED)
        assert process.returncode == 0 and "<html" in dom, log[-2000:]
        requests = [address for address in witness.requests if not _host(address).endswith(OF_CHROMIUM)]
    return Opened(dom, requests, re.findall(r".*CONSOLE.*Content Security Policy.*", log))


def asks_for(page: Path, path: str) -> bool:
    """Whether a file asks for that path, of whatever host. For pages that lead elsewhere: Chromium does not always print these."""
    with _chromium(page) as (process, witness):
        ends = time.monotonic() + SECONDS_ALLOWED
        while time.monotonic() < ends and process.poll() is None:
            if any(_path(address) == path for address in witness.requests):
                return True
            time.sleep(0.05)
    return False


def _path(address: str) -> str:
    """Without the slash before it."""
    return urlsplit(address).path.lstrip("/")


def _host(address: str) -> str:
    """Of `http://host/path`, or of `host:443`, which a proxy is asked for where the scheme is https."""
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""
