#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measures the time that a gate adds to a request through nginx, in one run. One client, one connection that stays, and
the same requests with proofs for all peers:

    alone     nginx, no auth_request
    own       auth_request to a location of the same nginx that answers 204
    endpoint  auth_request to another nginx that answers 204, beside the one that serves the API
    process   auth_request to a C program that reads and writes and nothing else (empty.c)
    floor     the same, with the cryptography of a proof and an answer as long as the gate's
    open      proof-gate, a route that needs no proof; the request has none
    proof     proof-gate, a proof. The app's token was sent once before, as the SDK does
    token     proof-gate, a proof and the token in each request

    Benchmarks/gate-proxy/bench.py [ROUNDS]

Prints the least and the median of the rounds' medians in microseconds, and ratios of both. A round takes 8 seconds:
load of other programs then falls on all alike.
"""

import os
import pathlib
import re
import statistics
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("Process/Gate", "Process/Backend", "Process/Service", "Vectors")
sys.path[:0] = [str(ROOT / "Tests" / name) for name in FOLDERS]
os.environ.setdefault("PROOF_BIN", str(ROOT / ".build/release"))
from gate_site import GateProcess, Site  # noqa: E402
from parties import HOST, PATIENCE, block  # noqa: E402
from ports import free_port  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

SECONDS = 1
# More than one client sends in a second.
REQUESTS = 20_000
RULES = "route open\n  path /open\n  need none\n\nroute rest\n  path /*\n  need proof\n  young none\n"
ASK = """
      auth_request /ask; auth_request_set $proof_verdict $upstream_http_proof_verdict;"""
TOLD = """
      proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header Connection "";
      proxy_http_version 1.1;
      proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-Host $http_host; proxy_set_header X-Original-Scheme https;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header Proof-Route "";"""
SCRIPT = """
local requests, index = {}, 0
local file = io.open(os.getenv("BENCH_REQUESTS"), "rb")
for size in file:lines() do requests[#requests + 1] = file:read(tonumber(size)) end
function request() index = index + 1; return requests[(index - 1) % #requests + 1] end
local failed = 0
function response(status) if status ~= 200 then failed = failed + 1 end end
function done(summary, latency) io.write("p50=" .. latency:percentile(50) .. " n=" .. summary.requests
  .. " bad=" .. summary.errors.status .. "\\n") end
"""


def server(port, ask):
    """A server of the proxy; `ask` is what its location `/ask` does, empty for no question."""
    pass_on = 'proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection "";'
    location = f"location = /ask {{ internal; {ask} }}" if ask else ""
    return (f"server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000;"
            f" location / {{ {ASK if ask else ''} {pass_on} proxy_set_header Proof-Verdict"
            f" {'$proof_verdict' if ask else chr(34) * 2}; }} {location} }}")


def asks(upstream):
    return f"proxy_pass http://{upstream}; {TOLD}"


def fields_of(site, with_token):
    fields = site.prover.prove("GET", "/orders", with_token=with_token)
    return "".join(f"{key}: {value}\r\n" for key, value in fields)


def answer_of(site, port):
    """The gate's answer to a question about a proof, byte for byte. The app is admitted with it."""
    told = "".join(f"X-Original-{key}: {value}\r\n" for key, value in
                   (("Method", "GET"), ("URI", "/orders"), ("Host", HOST), ("Scheme", "https")))
    text = f"GET /judge HTTP/1.1\r\nHost: gate\r\n{told}{fields_of(site, True)}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(text.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    head, body = answer.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
    assert len(body) == length, answer
    return answer


class Peer:
    """A process of empty.c."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()


def built(site):
    program = site.path("empty")
    options = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([os.environ.get("CC", "cc"), *options, HERE / "empty.c", "-o", program, "-lcrypto"], check=True)
    return program


def measured(site, requests, port):
    """The median of a second of requests, in microseconds."""
    with open(site.path("requests"), "wb") as file:
        for text in requests:
            file.write(b"%d\n%b" % (len(text), text))
    done = subprocess.run(
        ["wrk", "-t1", "-c1", f"-d{SECONDS}s", "-s", site.path("bench.lua"), f"http://127.0.0.1:{port}"], check=True,
        capture_output=True, text=True, env=os.environ | {"BENCH_REQUESTS": site.path("requests")})
    p50, count, bad = map(float, re.search(r"p50=(\S+) n=(\S+) bad=(\S+)", done.stdout).groups())
    assert bad == 0 and count > 0 and (len(requests) == 1 or count <= len(requests)), done.stdout
    return p50


def main(rounds):
    site = Site()
    prepare, *_, line = re.split(r"(?<!\\)\n", block("Start").strip())
    subprocess.run(["bash", "-c", f"{os.environ['PROOF_BIN']}/{prepare}"], cwd=site.folder, check=True)
    site.write("routes", RULES)
    site.write("bench.lua", SCRIPT)
    gate = GateProcess(site, line, [0], "--quiet")
    program = built(site)
    peers = [Peer(program), Peer(program, site.write("answer", answer_of(site, gate.port)))]
    api, endpoint = free_port(), free_port()
    names = ("alone", "own", "endpoint", "process", "floor", "open", "proof", "token")
    upstreams = {"api": api, "endpoint": endpoint, "process": peers[0].port, "floor": peers[1].port,
                 "gate": gate.port}
    questions = {"alone": "", "own": "return 204;"}
    questions |= {name: asks(f"{name}/judge") for name in upstreams if name != "api"}
    ports = {name: free_port() for name in questions}
    ports |= {name: ports["gate"] for name in ("open", "proof", "token")}
    folders = "".join(f"{name}_temp_path {site.path('temporary')};" for name in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.getuid() == 0 else ""
    head = f"{user} worker_processes 1; error_log {site.path('nginx.log')}; events {{}}"
    http = f"http {{ access_log off; keepalive_requests 1000000; {folders}"
    # A process each: an endpoint in the API's process would be awake for the request already.
    ends = f"server {{ listen 127.0.0.1:{api}; return 200 '{{}}'; }}"
    empty = f"server {{ listen 127.0.0.1:{endpoint}; return 204; }}"
    proxies = "".join(f"upstream {name} {{ server 127.0.0.1:{port}; keepalive 32; keepalive_requests 1000000; }}"
                      for name, port in upstreams.items())
    proxies += "".join(server(ports[name], ask) for name, ask in questions.items())
    commands = []
    for name, body in (("ends", ends), ("empty", empty), ("proxy", proxies)):
        file = site.write(f"{name}.conf", f"{head} pid {site.path(name)}.pid; {http} {body} }}")
        commands.append(["/usr/sbin/nginx", "-p", str(site.folder), "-c", file])
        subprocess.run(commands[-1], check=True, timeout=PATIENCE)
    found = {name: [] for name in names}
    try:
        for _ in range(rounds):
            for name in names:
                # A proof counts once. The other peers do not look at it.
                count = REQUESTS if name in ("proof", "token") else 1
                target = "/open" if name == "open" else "/orders"
                requests = [f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n"
                            f"{'' if name == 'open' else fields_of(site, name == 'token')}\r\n".encode()
                            for _ in range(count)]
                found[name].append(measured(site, requests, ports[name]))
    finally:
        for command in commands:
            subprocess.run([*command, "-s", "stop"], check=False, timeout=PATIENCE)
        for peer in peers:
            peer.end()
        gate.end()
        site.close()
    for word, summary in (("least", min), ("median", statistics.median)):
        taken = {name: summary(values) for name, values in found.items()}
        print(f"{word}: " + ", ".join(f"{name} {value:.0f} us" for name, value in taken.items()))
        peers = ("own", "endpoint", "process", "floor")
        ratios = ", ".join(f"{taken['proof'] / taken[name]:.2f} times {name}" for name in peers)
        print(f"{word}: a proof adds {taken['proof'] - taken['alone']:.0f} us to nginx alone; it is {ratios};"
              f" without a proof {taken['open'] / taken['process']:.2f} times process")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
