#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The bridge in a real WebKitGTK window, under Xvfb: which pages get a token.

    run.py SAMPLE        SAMPLE: the program bridge-sample of Sources/WebKitGTK

Pages come over TLS from two origins of this machine, of which one is on the list. The app is admitted by a real
service, and a redeemer judges the page's token. PROOF_BIN: the folder of the package's programs.
"""

import http.server
import pathlib
import re
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Gate"))
from sdk_test import SDKSite  # noqa: E402
from place import BIN  # noqa: E402

ASK = """
  const asked = {proofkit: "event", id: 7, event: %d, account: "ada", data: "order 17"};
  const told = (text) => { document.title = "done: " + text; };
  addEventListener("message", (message) => {
    if (message.data.proofkit === "token") told(JSON.stringify(message.data));
  });
"""
# Asks in vain: the app then has loaded what an answer takes.
ASK_LOADED = """
  addEventListener("message", (message) => {
    if (message.data.proofkit === "token") document.title = "done: loaded";
  });
  postMessage({proofkit: "event", id: 1, event: 1}, location.origin);
"""
FRAME_ASK = """
  addEventListener("message", (message) => {
    if (message.data.proofkit === "token") parent.postMessage({framed: message.data}, "*");
  });
  const asked = {proofkit: "event", id: 7, event: 3301};
  window.postMessage(asked, location.origin);
  parent.postMessage(asked, "*");
  setTimeout(() => parent.postMessage({framed: null}, "*"), 1500);
"""


def page(script):
    return f"<!doctype html><title>x</title><script>{script}</script>"


class Site(http.server.BaseHTTPRequestHandler):
    other = {}

    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        """Answers with one of the pages."""
        name = self.path.split("?")[0]
        framed = f"https://{self.other['listed']}/inner" if name == "/outer" else f"https://{self.other['evil']}/inner"
        pages = {
            "/ask": page(ASK % 3301 + "postMessage(asked, location.origin);"),
            "/event": page(ASK % 3302 + "postMessage(asked, location.origin);"),
            "/inner": page(FRAME_ASK),
            "/load": page(ASK_LOADED),
            "/handler": page(
                ASK % 3301 + 'told(typeof window.webkit?.messageHandlers?.proofkit + " " + typeof proofKitBridge);'
            ),
        }
        frames = page(
            ASK % 3301
            + "addEventListener('message', (message) => {"
            + "if ('framed' in message.data) told('frame ' + JSON.stringify(message.data.framed)); });"
        )
        if name == "/moved":
            self.send_response(302)
            self.send_header("Location", f"https://{self.other['evil']}/ask")
            self.end_headers()
            return
        body = pages.get(name) or frames + f'<iframe src="{framed}"></iframe>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())


def serve(certificate, key):
    """Begins a server on a free port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def prepare(site):
    """An app's folders, an event for its audience, and the redeemer's configuration."""
    site.ask("event", "add", "3301", "--gate", "front", "--audience", "shop", "--account")
    site.ask("gate", "configuration", "front", "--output", site.path("gate.jws"))
    site.ask("gate", "configuration", "front", "--audience", "shop", "--output", site.path("shop.jws"))
    (site.folder / "app" / "bundle").mkdir(parents=True)
    (site.folder / "app" / "bundle" / "rules").write_text("doors stay shut\n")
    (site.folder / "app" / "storage").mkdir(mode=0o700)


def judged(site, gate_token, token):
    """The judgements of a redeemer on a token: the first, and the second one."""
    line = f"{token} 3301 ada order 17\n"
    run = subprocess.run(
        [BIN / "event-judge", site.path("shop.jws"), site.fingerprint, "shop", site.path("gate.jws"),
         site.path("gate.key"), site.path("state") + "/own.key", gate_token], input=line * 2,
        capture_output=True, text=True, timeout=120, check=False)
    return run.stdout.splitlines() or [run.stderr[-500:]]


def main():
    """Shows the pages and compares what each got."""
    site = SDKSite()
    try:
        count, failed = shown(site, sys.argv[1])
    finally:
        site.close()
    # The last line counts, behind what nginx says when it ends.
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


def shown(site, sample):
    """Runs the sample: the number of cases, and how many failed."""
    prepare(site)
    certificate, key = site.path("site.pem"), site.path("site.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )
    server = serve(certificate, key)
    port = server.server_address[1]
    listed, evil = f"127.0.0.1:{port}", f"localhost:{port}"
    Site.other = {"listed": listed, "evil": evil}
    cases = [
        (f"https://{listed}/ask", '"z":"'),
        (f"https://{listed}/event", '"error":"event"'),
        (f"https://{evil}/ask", '"error":"origin"'),
        (f"https://{listed}/moved", '"error":"origin"'),
        (f"https://{evil}/outer", "frame null"),
        (f"https://{listed}/frames", "frame null"),
        (f"https://{listed}/handler", "undefined undefined"),
    ]
    command = ["xvfb-run", "-a", sample, site.path("app"), site.path("authority.pem"),
               site.ask("config", "show")["signed"], site.host, certificate, f"https://{listed}"]
    try:
        run = subprocess.run([*command, *(url for url, _ in cases)], capture_output=True, text=True, timeout=150,
                             check=False)
        output, words = run.stdout, run.stderr
    except subprocess.TimeoutExpired as late:
        output, words = ((text or b"").decode() for text in (late.stdout, late.stderr))
    got = dict(line.split(" ", 1) for line in output.splitlines() if " " in line)
    failed = 0
    for url, expected in cases:
        text = got.get(url, "nothing")
        is_right = expected in text and ('"z"' in text) == ('"z"' in expected)
        failed += not is_right
        print(f"{'ok' if is_right else 'FAILED'}: {url.split('/', 3)[3]} from "
              f"{'the list' if listed in url else 'elsewhere'}: {text[:120]}")
    token = re.search(r'"z":"([^"]*)"', got.get(cases[0][0], ""))
    said = judged(site, got["token"], token[1]) if token else ["no token"]
    is_right = said[0] == "valid" and "valid" not in said[1:]
    failed += not is_right
    print(f"{'ok' if is_right else 'FAILED'}: the redeemer says of the page's token: {said}")
    if failed:
        print(words[-2000:])
    return len(cases) + 1, failed


if __name__ == "__main__":
    sys.exit(main())
