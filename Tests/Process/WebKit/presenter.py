#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The WebKitGTK presenter in a real window, under Xvfb: a real gate's page for a person, behind nginx.

    presenter.py SAMPLE SCREEN   SAMPLE: the program bridge-sample of Sources/WebKitGTK; SCREEN: the folder of
                                 Xvfb's option -fbdir

xdotool is the person: it answers without a picture by the keyboard, or closes the window. PROOF_BIN: the folder of the
package's programs. The display is the one of DISPLAY.
"""

import ctypes
import pathlib
import queue
import subprocess
import sys
import threading
import time
import urllib.request

import run
from parties import PATIENCE
from ports import free_port
from sdk_test import SDKSite


def tool(*words):
    return subprocess.run(["xdotool", *words], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


class Event(ctypes.Structure):
    """XClientMessageEvent, in the size of XEvent."""

    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("sent", ctypes.c_int),
                ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("message", ctypes.c_ulong),
                ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("rest", ctypes.c_long * 24)]


def close(window):
    """Asks a window to close, as a window manager does: WM_DELETE_WINDOW."""
    x = ctypes.CDLL("libX11.so.6")
    x.XOpenDisplay.restype, x.XInternAtom.restype = ctypes.c_void_p, ctypes.c_ulong
    display = ctypes.c_void_p(x.XOpenDisplay(None))
    event = Event(type=33, window=window, message=x.XInternAtom(display, b"WM_PROTOCOLS", 0), format=32)
    event.data[0] = x.XInternAtom(display, b"WM_DELETE_WINDOW", 0)
    x.XSendEvent(display, ctypes.c_ulong(window), 0, 0, ctypes.byref(event))
    x.XCloseDisplay(display)


class MeasuredSite(SDKSite):
    """A gate whose measures tell what a page asked for."""

    def start_gate(self, *options, replay=None):
        self.status_port = free_port()
        super().start_gate("--status", f"127.0.0.1:{self.status_port}", *options, replay=replay)

    def measures(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode()


class App:
    """The sample, with its lines as they come."""

    def __init__(self, site, sample, origin, number):
        folder = site.folder / f"app-{number}"
        (folder / "bundle").mkdir(parents=True)
        (folder / "bundle" / "rules").write_text("doors stay shut\n")
        (folder / "storage").mkdir(mode=0o700)
        self.process = subprocess.Popen(
            [sample, folder, site.path("authority.pem"), site.ask("config", "show")["signed"], site.host,
             site.path("leaf.pem"), origin, "--named", "person"], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.words = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.words.extend(self.process.stderr), daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("ended")

    def until(self, wanted):
        """The first line that begins with a word."""
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if line.startswith(wanted):
                return line
            assert line != "ended", "".join(self.words)[-2000:]

    def window(self):
        """The presenter's window, when it is there."""
        return int(tool("search", "--sync", "--onlyvisible", "--name", "^person$").split()[0])

    def end(self):
        self.process.kill()
        self.process.wait()


def rests(screen):
    """Waits until the window shows a picture: a bar moves until then. Twenty looks at the screen must be the same."""
    end, same, last = time.monotonic() + PATIENCE, 0, b""
    while same < 20:
        assert time.monotonic() < end, "the window never rests"
        now = screen.read_bytes()
        same, last = (same + 1 if now == last else 0), now
        # The bar takes more than a second for its way.
        time.sleep(0.02)


def answered(site, app):
    """The person continues without a picture: the third button behind the slider, which has the focus."""
    window = app.window()
    end = time.monotonic() + PATIENCE
    while 'route="page",result="picture"' not in site.measures():
        assert time.monotonic() < end, "the page asks for no picture"
        # The gate limits how often its measures are read.
        time.sleep(0.5)
    tool("windowfocus", "--sync", str(window))
    rests(pathlib.Path(sys.argv[2]) / "Xvfb_screen0")
    tool("key", "--clearmodifiers", "Tab", "Tab", "Tab", "Return")
    return app.until("named")


def closed(site, app):
    """The person closes the window before the page has an answer."""
    close(app.window())
    return app.until("named")


def main():
    """Plays each case with an app of its own, and counts."""
    site, failed = MeasuredSite(), 0
    server = run.serve(site.path("leaf.pem"), site.path("leaf.key"))
    origin = f"https://127.0.0.1:{server.server_address[1]}"
    run.Site.other = {"listed": "-", "evil": "-"}
    # A clearance begins with the byte 0x1A. The SDK takes none of another app or host.
    cases = [(answered, "named Gg"),
             (closed, "named error: The gate's page ended without success: The page was closed.")]
    try:
        for number, (case, wanted) in enumerate(cases):
            app = App(site, sys.argv[1], origin, number)
            try:
                print(app.until("served"))
                line = case(site, app)
            except (AssertionError, queue.Empty, subprocess.SubprocessError) as problem:
                line = f"{problem!r} {app.words[-5:]}"
            finally:
                app.end()
            is_right = line.startswith(wanted)
            failed += not is_right
            print(f"{'ok' if is_right else 'FAILED'}: {case.__doc__} {line[:200]}", flush=True)
    finally:
        site.close()
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
