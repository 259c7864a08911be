#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measures the time that a gate adds to a request through nginx, in one run: nginx alone, nginx that asks an empty
endpoint (auth_request to a second nginx), and nginx that asks proof-gate. One client, one connection that stays.

    Benchmarks/gate-proxy/bench.py [ROUNDS]

Prints the least and the median of the rounds' medians in microseconds, and ratios of both. A round takes 4 seconds:
load of other programs then falls on all four alike.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Gate", "Backend", "Service", "Vectors")]
os.environ.setdefault("PROOF_BIN", str(ROOT / ".build/release"))
from gate_site import GateProcess, Site  # noqa: E402
from parties import HOST, PATIENCE, block, free_port  # noqa: E402

SECONDS = 1
# More than one client sends in a round.
REQUESTS = 15_000
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


def server(port, api, ask):
    pass_on = 'proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection "";'
    gate = f"location = /ask {{ internal; proxy_pass http://{ask}; {TOLD} }}" if ask else ""
    return (f"server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000;"
            f" location / {{ {ASK if ask else ''} {pass_on} proxy_set_header Proof-Verdict"
            f" {'$proof_verdict' if ask else chr(34) * 2}; }} {gate} }}")


def main(rounds):
    site = Site()
    prepare, *_, line = re.split(r"(?<!\\)\n", block("Start").strip())
    subprocess.run(["bash", "-c", f"{os.environ['PROOF_BIN']}/{prepare}"], cwd=site.folder, check=True)
    site.write("routes", RULES)
    gate = GateProcess(site, line, [0], "--quiet")
    api, empty, ports = free_port(), free_port(), [free_port() for _ in range(3)]
    folders = "".join(f"{name}_temp_path {site.path('temporary')};" for name in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    upstreams = "".join(f"upstream {name} {{ server 127.0.0.1:{port}; keepalive 32; keepalive_requests 1000000; }}"
                        for name, port in (("api", api), ("empty", empty), ("gate", gate.port)))
    user = "user root;" if os.getuid() == 0 else ""
    head = f"{user} worker_processes 1; error_log {site.path('nginx.log')}; events {{}}"
    http = f"http {{ access_log off; keepalive_requests 1000000; {folders}"
    ends = (f"server {{ listen 127.0.0.1:{api}; return 200 '{{}}'; }}"
            f"server {{ listen 127.0.0.1:{empty}; return 204; }}")
    proxies = (server(ports[0], api, None) + server(ports[1], api, "empty/judge") + server(ports[2], api, "gate/judge"))
    commands = []
    for name, body in (("ends", f"{http} {ends} }}"), ("proxy", f"{http} {upstreams} {proxies} }}")):
        file = site.write(f"{name}.conf", f"{head} pid {site.path(name)}.pid; {body}")
        commands.append(["/usr/sbin/nginx", "-p", str(site.folder), "-c", file])
        subprocess.run(commands[-1], check=True, timeout=PATIENCE)
    script = site.write("bench.lua", SCRIPT)
    found = {name: [] for name in ("alone", "empty", "open", "proof")}
    try:
        for _ in range(rounds):
            for name, port in zip(found, (ports[0], ports[1], ports[2], ports[2])):
                target = "/open" if name == "open" else "/orders"
                with open(site.path("requests"), "wb") as file:
                    for _ in range(REQUESTS if name == "proof" else 1):
                        fields = site.prover.prove("GET", target)
                        lines = "".join(f"{key}: {value}\r\n" for key, value in fields)
                        text = f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n".encode()
                        file.write(b"%d\n%b" % (len(text), text))
                done = subprocess.run(
                    ["wrk", "-t1", "-c1", f"-d{SECONDS}s", "-s", script, f"http://127.0.0.1:{port}"], check=True,
                    capture_output=True, text=True, env=os.environ | {"BENCH_REQUESTS": site.path("requests")})
                p50, count, bad = map(float, re.search(r"p50=(\S+) n=(\S+) bad=(\S+)", done.stdout).groups())
                assert bad == 0 and count > 0 and (name != "proof" or count <= REQUESTS), done.stdout
                found[name].append(p50)
    finally:
        for command in commands:
            subprocess.run([*command, "-s", "stop"], check=False, timeout=PATIENCE)
        gate.end()
        site.close()
    for word, summary in (("least", min), ("median", statistics.median)):
        taken = {name: summary(values) for name, values in found.items()}
        print(f"{word}: " + ", ".join(f"{name} {value:.0f} us" for name, value in taken.items()))
        print(f"{word}: a proof adds {taken['proof'] - taken['alone']:.0f} us to nginx alone,"
              f" {taken['proof'] / taken['empty']:.2f} times the empty endpoint;"
              f" without a proof {taken['open'] / taken['empty']:.2f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
