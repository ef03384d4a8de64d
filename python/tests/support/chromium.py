"""Opens a page in headless Chromium and tells what it did: the page as it then stood, what it asked for, what was refused."""

import contextlib
import html
import http.server
import json
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
from typing import Any
from urllib.parse import urlsplit

CHROMIUM = shutil.which("chromium")
WHY_NOT = "" if CHROMIUM else "no chromium on the PATH; tools/bootstrap --browser installs it"
SECONDS_ALLOWED = 120
TELL = "const told = JSON.stringify(found); if (top === self) document.title = told; else parent.postMessage(told, '*')"
"""The end of a script: what it found is the title of what Chromium prints."""
NARROWEST = 500
"""Window that Chromium opens without a screen. A narrower one is a frame in it, which a page takes for a window."""
FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><title></title>
<iframe src="copy.html" style="width: {width}px; height: 900px; border: 0"></iframe>
<script>onmessage = said => {{ document.title = said.data }}</script>"""
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


def looked_at(page: Path, script: str, width: int, *, dark: bool) -> Any:
    """What the expression `script` (or its promise) finds in a window of that width, for a reader who wants it dark or light.

    The page is a copy that runs this script and no other, for its policy would run none.
    """
    text = page.read_text(encoding="utf-8")
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert len(free) < len(text)
    telling = f"(async () => {{ const found = await ({script}); {TELL} }})()"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.html"
        copy.write_text(free.replace("</body>", f"<script>{telling}</script></body>"), encoding="utf-8")
        if width < NARROWEST:
            copy = Path(folder) / "frame.html"
            copy.write_text(FRAME.format(width=width), encoding="utf-8")
        window = [
            f"--window-size={max(width, NARROWEST)},1000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        ]
        with _chromium(copy, *PRINTING, *window, "--hide-scrollbars") as (process, _):
            dom, log = process.communicate(timeout=SECONDS_ALLOWED)
    told = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert process.returncode == 0 and told, log[-2000:]
    return json.loads(html.unescape(told[1]))


def _path(address: str) -> str:
    """Without the slash before it."""
    return urlsplit(address).path.lstrip("/")


def _host(address: str) -> str:
    """Of `http://host/path`, or of `host:443`, which a proxy is asked for where the scheme is https."""
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""
