#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""proof-service from outside: TLS, certificates, signals, options, log, measures, memory."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import wiring  # noqa: E402
from checks import Checks  # noqa: E402
from service import BUILT, PATIENCE, Service, make_certificate, make_store, refusal  # noqa: E402

checks = Checks()
# libmicrohttpd closes without an alert.
REFUSED = ["closed", "UNEXPECTED_EOF_WHILE_READING"]
HALF = b"POST /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"


def trusting(chain):
    context = ssl.create_default_context(cafile=str(chain))
    # Old versions are offered in earnest: it is the service that must refuse them.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    return context


def handshake(port, context):
    """The version that was agreed on, or why none was."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return secure.version()
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError):
            return "closed"
        except ssl.SSLError as error:
            return error.reason


def get(port, path, headers=None, context=None):
    if context:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def begin_half(port, one):
    """Sends a request without its body, and waits until the service has begun it."""
    one.sendall(HALF)
    said = b""
    while not said.endswith(b"\r\n\r\n") and (part := one.recv(1)):
        said += part
    checks.that(said.startswith(b"HTTP/1.1 100 "), f"a request is in flight: {said}")
    open_now = re.search(r"^proof_requests_open (\d+)$", get(port, "/metrics")[1], re.MULTILINE)
    checks.that(int(open_now[1]) == 2, "it is open beside the one that asks")


def everything(one):
    """The peer's bytes until it closes."""
    said = b""
    while part := one.recv(65536):
        said += part
    return said


@contextlib.contextmanager
def lax_server(chain, key):
    """The port of a server that agrees to anything: what it shows is that the client really offers it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def serve():
            while True:
                with contextlib.suppress(OSError):
                    plain, _ = listening.accept()
                    with plain, contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
                        secure.recv(1)
                    continue
                return
        server = threading.Thread(target=serve)
        server.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        server.join()


def test_tls_versions(store, chain, key):
    versions = [(ssl.TLSVersion.TLSv1, False, "TLSv1"), (ssl.TLSVersion.TLSv1_1, False, "TLSv1.1"),
                (ssl.TLSVersion.TLSv1_2, True, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, True, "TLSv1.3")]
    # No forward secrecy, or no authenticated encryption.
    ciphers = ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES128-SHA"]
    offers = []
    for version, is_accepted, name in versions:
        context = trusting(chain)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = version
        offers.append((name, context, is_accepted, name))
    for cipher in ciphers:
        context = trusting(chain)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{cipher}:@SECLEVEL=0")
        # The old ciphers' versions are none of the service's; TLS 1.2 is offered with each.
        offers.append((cipher, context, False, None))
    with Service(*store, "--certificate", chain, "--private-key", key) as service, lax_server(chain, key) as lax:
        for name, context, is_accepted, version in offers:
            agreed = handshake(lax, context)
            checks.that(agreed == version if version else agreed.startswith("TLS"), f"{name} was not offered: {agreed}")
            agreed = handshake(service.port, context)
            checks.that(agreed == version if is_accepted else agreed in REFUSED, f"{name}: {agreed}")
        status, _ = get(service.port, "/health", context=trusting(chain))
        checks.that(status == 200, f"HTTPS: {status}")


def test_strangers_at_tls(store, chain, key):
    with Service(*store, "--certificate", chain, "--private-key", key) as service:
        for said in [b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x00\xc8\x01", os.urandom(1000), b""]:
            with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
                # The service may have ended the connection before all was said, or before this end closes.
                with contextlib.suppress(OSError):
                    one.sendall(said)
                    one.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionError):
                    answer = everything(one)
                    checks.that(b"HTTP" not in answer, f"{said[:20]} was answered: {answer[:80]}")
        status, _ = get(service.port, "/health", context=trusting(chain))
        checks.that(status == 200, "the service goes on")


def test_hanging_handshake(store, chain, key):
    options = ["--certificate", chain, "--private-key", key, "--request-seconds", 1]
    with Service(*store, *options) as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
            with contextlib.suppress(ConnectionError):
                checks.that(everything(one) == b"", "a handshake that never begins is ended")


def test_certificate_files(store, chain, key, folder):
    other_chain, other_key = make_certificate(folder, "other")
    empty = folder / "empty"
    empty.write_text("")
    exposed = folder / "exposed.key"
    shutil.copy(key, exposed)
    exposed.chmod(0o644)
    missing = folder / "missing"
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for options, words in [
        ((pipe, key), [f"cannot read {pipe}", "Invalid argument"]),
        ((chain, pipe), [f"cannot read {pipe}", "Invalid argument"]),
        ((missing, key), [f"cannot read {missing}", "No such file"]),
        ((chain, missing), [f"cannot read {missing}", "No such file"]),
        ((folder, key), [f"cannot read {folder}", "Is a directory"]),
        ((empty, key), [f"{empty} holds no certificate", "PEM"]),
        ((key, key), [f"{key} holds no certificate"]),
        ((chain, empty), [f"{empty} holds no usable private key"]),
        ((chain, exposed), [f"everyone on this machine can read the private key in {exposed}", "chmod"]),
        ((chain, other_key), [f"the certificate in {chain} was not made for the private key in {other_key}"]),
        ((other_chain, key), [f"the certificate in {other_chain} was not made"]),
    ]:
        empty.chmod(0o600)
        status, said = refusal(*store, "--listen", "127.0.0.1:0", "--certificate", options[0],
                               "--private-key", options[1])
        checks.that(status == 1 and all(word in said for word in words), f"{words}: {status} {said}")
        checks.that(said.count("\n") == 1, f"one line: {said}")


def test_secret_files(store, folder):
    """A start reads a secret from a regular file, and waits for nothing else."""
    pipe, missing = folder / "secret-pipe", folder / "missing"
    os.mkfifo(pipe)
    for path, words in [(pipe, "no regular file"), ("/dev/zero", "no regular file"), (folder, "no regular file"),
                        (missing, "No such file")]:
        for option in ("--key-file", "--passphrase-file"):
            status, said = refusal(*store[:2], option, path, "--listen", "127.0.0.1:0", "--plain")
            checks.that(status == 1 and f"cannot read {path}" in said and words in said,
                        f"{option} {path}: {status} {said}")


def end_of(chain):
    """When a certificate ends, in seconds since 1970."""
    found = subprocess.run(["openssl", "x509", "-in", chain, "-noout", "-enddate"], check=True, capture_output=True,
                           text=True)
    return ssl.cert_time_to_seconds(found.stdout.strip().removeprefix("notAfter="))


def end_measured(port, chain):
    found = re.search(r"^proof_certificate_end_seconds (\S+)$", get(port, "/metrics", context=trusting(chain))[1],
                      re.MULTILINE)
    return float(found.group(1)) if found else None


def test_renewal(store, folder):
    chain, key = folder / "now.pem", folder / "now.key"
    first, first_key = make_certificate(folder, "first")
    second, second_key = make_certificate(folder, "second", days=60)
    for source, target in [(first, chain), (first_key, key)]:
        shutil.copy(source, target)
    with Service(*store, "--certificate", chain, "--private-key", key) as service:
        old = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE, context=trusting(first))
        old.request("GET", "/health")
        old.getresponse().read()
        checks.that(end_measured(service.port, first) == end_of(first), "the first one's end is measured")
        checks.that(handshake(service.port, trusting(second)) == "CERTIFICATE_VERIFY_FAILED", "not yet the second")
        for source, target in [(second, chain), (second_key, key)]:
            shutil.copy(source, target)
        service.signal(signal.SIGHUP)
        service.wait_for("certificate renewed")
        checks.that(handshake(service.port, trusting(second)) == "TLSv1.3", "the second is served")
        checks.that(handshake(service.port, trusting(first)) == "CERTIFICATE_VERIFY_FAILED", "the first no longer")
        checks.that(end_measured(service.port, second) == end_of(second), "the second one's end is measured")
        old.request("GET", "/health")
        checks.that(old.getresponse().read() != b"", "a connection under the first goes on")
        old.close()
        chain.write_text("rubbish")
        service.signal(signal.SIGHUP)
        reason = service.wait_for("certificate not renewed")["reason"]
        checks.that("holds no certificate" in reason, reason)
        checks.that(handshake(service.port, trusting(second)) == "TLSv1.3", "the second is still served")
        # A handshake under way holds the certificate that was renewed meanwhile.
        for source, target in [(second, chain), (second_key, key)]:
            shutil.copy(source, target)
        stop = threading.Event()
        results = []

        def shake():
            while not stop.is_set():
                results.append(handshake(service.port, trusting(second)))

        clients = [threading.Thread(target=shake) for _ in range(4)]
        for one in clients:
            one.start()
        for _ in range(50):
            service.signal(signal.SIGHUP)
            results.append(handshake(service.port, trusting(second)))
        stop.set()
        for one in clients:
            one.join()
        checks.that(set(results) == {"TLSv1.3"}, f"renewals under load: {set(results)}")
        checks.that(service.stop() == 0, "stops")


def test_graceful_stop(store, chain, key):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Service(*store, "--plain") as service:
            one = socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE)
            begin_half(service.port, one)
            service.signal(number)
            service.wait_for("stopping")
            with contextlib.suppress(ConnectionResetError):
                # The event comes before the socket closes: a connection in between may still be served, or be told.
                while True:
                    try:
                        status, _ = get(service.port, "/health")
                        checks.that(status in (200, 503), f"a request while stopping: {status}")
                    except ConnectionRefusedError:
                        break
                    except (http.client.HTTPException, OSError):
                        continue
            checks.that(service.process.poll() is None, "waits for the request in flight")
            one.sendall(b"hello")
            checks.that(everything(one).startswith(b"HTTP/1.1 404"), "the request in flight is answered")
            checks.that(service.ended() == 0, "ends well")
            checks.that(json.loads(service.lines[-1])["unfinished"] == "no", service.lines[-1])
            one.close()


def test_impatient_stop(store):
    with Service(*store, "--plain", "--drain-seconds", 0) as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
            begin_half(service.port, one)
            checks.that(service.stop() == 1, "a request was given up: status 1")
            checks.that(json.loads(service.lines[-1])["unfinished"] == "yes", service.lines[-1])
    with Service(*store, "--plain") as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
            begin_half(service.port, one)
            service.signal(signal.SIGTERM)
            service.wait_for("stopping")
            # Lost if it comes before the service listens to signals again: then the next one counts.
            while service.process.poll() is None:
                service.signal(signal.SIGTERM)
            checks.that(service.ended() == -signal.SIGTERM, "a second signal ends it at once")


def test_stop_with_a_full_log(store):
    """A log without a reader: the service waits, but it can still be ended."""
    log, end = os.pipe()
    filler = os.open(f"/proc/self/fd/{end}", os.O_WRONLY | os.O_NONBLOCK)
    process = subprocess.Popen([BUILT / "proof-service", *map(str, store), "--plain", "--listen", "127.0.0.1:0"],
                               stdout=end)
    try:
        checks.that(b"listening" in os.read(log, 4096), "starts")
        for size in (4096, 1):
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(filler, b"x" * size)
        patience = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < patience:
            process.send_signal(signal.SIGTERM)
        checks.that(process.poll() == -signal.SIGTERM, f"a second signal ends it at once: {process.poll()}")
    finally:
        process.kill()
        process.wait()
        for one in (log, end, filler):
            os.close(one)


def test_options(store, chain, key):
    plain = [*store, "--plain"]
    events = [*plain, "--events", "127.0.0.1:0", "--event-credentials", "c", "--event-replay", "database",
              "--event-gate", "g", "--event-audience", "a", "--event-own-secret", "1:none.key"]
    for options, words in [
        ([], "--store is missing"),
        (store, "--certificate and --private-key are missing"),
        ([*store, "--certificate", chain], "--private-key is missing"),
        ([*store, "--private-key", key], "--certificate is missing"),
        ([*plain, "--certificate", chain, "--private-key", key], "--plain has no certificate"),
        ([*plain, "--listen", "0.0.0.0:0"], "would show everything to the network"),
        ([*plain, "--listen", "[::]:0"], "would show everything to the network"),
        ([*plain, "--listen", "127.0.0.1"], "--listen is 127.0.0.1"),
        ([*plain, "--listen", "127.0.0.1:70000"], "--listen is 127.0.0.1:70000"),
        ([*plain, "--log", "xml"], "--log is xml"),
        ([*plain, "--threads", "-1"], "--threads is -1"),
        ([*plain, "--passphrase-file", "x"], "a store has one of the two"),
        ([*plain, "--leave-seconds", "3601"], "--leave-seconds is 3601"),
        ([*plain, "--grace-seconds", "86401"], "--grace-seconds is 86401"),
        *(([*plain, name, "-1"], f"{name} is -1") for name in (
            "--connections", "--connections-per-address", "--request-seconds", "--idle-seconds", "--leave-seconds",
            "--grace-seconds", "--drain-seconds")),
        *(([*plain, name, "7"], f"{name} goes with --events") for name in (
            "--event-gate", "--event-own-secret", "--event-audience", "--event-credentials", "--event-replay")),
        (events[:-10], "--event-credentials is missing"), (events[:-8], "--event-replay is missing"),
        (events[:-6], "--event-gate is missing"), (events[:-4], "--event-audience is missing"),
        (events[:-2], "--event-own-secret is missing"),
        ([*events[:-1], "own.key"], "it takes a number and a file"),
        ([*plain, "--wrong"], "unknown argument: --wrong"),
    ]:
        status, said = refusal(*options)
        checks.that(status == 2 and words in said and "--help" in said, f"{words}: {status} {said}")
    with Service(*plain) as service:
        status, said = refusal(*plain, "--listen", f"127.0.0.1:{service.port}")
        checks.that(status == 1 and f"cannot listen on port {service.port} of 127.0.0.1" in said, said)
        checks.that("choose another port" in said, said)
    status, said = refusal(*plain, "--threads", 0)
    checks.that(status == 1 and "threads is 0; it must be 1 to 256" in said, said)
    status, said = refusal(*plain, "--tpm-authorities", "none.pem")
    checks.that(status == 1 and "none.pem" in said and "there is no such file" in said, said)
    status, said = refusal(*events)
    checks.that(status == 1 and "proof-service: " in said, said)
    status, said = refusal("--store", "none.db", *plain[2:])
    checks.that(status == 1 and "none.db" in said, said)
    # Bounds that are taken: the store that is not there ends it afterwards.
    for name, value in (("--leave-seconds", 3600), ("--grace-seconds", 86_400), ("--drain-seconds", 0),
                        ("--request-seconds", 0), ("--idle-seconds", 0), ("--connections-per-address", 0)):
        status, said = refusal("--store", "none.db", *plain[2:], name, value)
        checks.that(status == 1 and "none.db" in said, f"{name} {value}: {status} {said}")
    for connections in (10_000_000, 2**63 - 1):
        status, said = refusal(*plain, "--connections", connections)
        checks.that(status == 1 and "--connections" in said, f"{connections} connections: {status} {said}")
    for option in ("--request-seconds", "--idle-seconds"):
        status, said = refusal(*plain, option, 2**63 - 1)
        checks.that(status == 1 and "a millisecond to a day" in said, f"{option}: {status} {said}")


def test_metrics(store):
    with Service(*store, "--plain", "--trusted-proxy", "127.0.0.2", "--metrics-reader", "192.0.2.7") as service:
        for path in ["/health", "/health", "/secret-path", "/other-path", "/health?x=1"]:
            get(service.port, path)
        status, text = get(service.port, "/metrics")
        checks.that(status == 200, f"/metrics: {status}")
        sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')
        for line in text.splitlines():
            checks.that(not line or line.startswith("# ") or sample.fullmatch(line), f"no sample: {line}")
        for line in ['proof_requests_total{route="/health",method="GET",status="200"} 3',
                     'proof_requests_total{route="other",method="GET",status="404"} 2',
                     'proof_request_seconds_count{route="/health"} 3', "proof_requests_in_flight 1",
                     "proof_connections_total 6",
                     'proof_request_seconds_bucket{route="/health",le="+Inf"} 3']:
            checks.that(line in text.splitlines(), f"not among the measures: {line}")
        checks.that("secret-path" not in text, "a path is not among the measures")
    for options in ([], ["--trusted-proxy", "127.0.0.1", "--metrics-reader", "192.0.2.7"]):
        with Service(*store, "--plain", *options) as service:
            status, _ = get(service.port, "/metrics")
            checks.that(status == (404 if options else 200), f"{options}: /metrics without a header: {status}")
            for peer in ["192.0.2.7", "192.0.2.8", "127.0.0.1", "192.0.2.8, 192.0.2.7", ""]:
                status, _ = get(service.port, "/metrics", {"X-Forwarded-For": peer})
                checks.that(status == 404, f"{options}: /metrics through a proxy for {peer}: {status}")
            for header in ["Via", "Forwarded", "X-Real-IP", "X-Forwarded-Proto"]:
                status, _ = get(service.port, "/metrics", {header: "x"})
                checks.that(status == 404, f"{options}: /metrics with {header}: {status}")


def test_silent_connections(store, chain, key):
    """4,000 connections of one client that says nothing: `/health` is served within 10 seconds, each time."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    bound = 10

    def health(port, context):
        with socket.create_connection(("127.0.0.1", port), timeout=bound) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") if context else plain as one:
                one.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                return everything(one).startswith(b"HTTP/1.1 200 ")

    # No share: the connections of one address fill the room for all.
    for options, context in [(["--plain"], None), (["--plain", "--connections-per-address", 0], None),
                             (["--certificate", chain, "--private-key", key], trusting(chain))]:
        with Service(*store, "--quiet", *options) as service, contextlib.ExitStack() as held:
            # Long enough that none of them is closed for its silence.
            for number in range(4_000):
                with contextlib.suppress(OSError):
                    held.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=bound))
                if number % 400 == 399:
                    try:
                        served = health(service.port, context)
                    except OSError as error:
                        served = error
                    checks.that(served is True, f"{options}: /health beside {number + 1} silent connections: {served}")


def test_strict_heads(store):
    # As bytes: no client library sends them.
    with Service(*store, "--plain") as service:
        for said in [b"GET /health HTTP/1.1\nHost: a\n\n", b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
                     b"POST /v1/manage%2fsdk%2flist HTTP/1.1\r\nHost: a\r\n\r\n",
                     b"POST /v1%2Fmanage%2Fsdk%2Flist HTTP/1.1\r\nHost: a\r\n\r\n"]:
            with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
                one.sendall(said)
                answer = one.recv(65536)
                checks.that(answer.startswith(b"HTTP/1.1 400 "), f"{said}: {answer[:40]}")


def test_core_dumps(store):
    with Service(*store, "--plain") as service:
        limits = pathlib.Path(f"/proc/{service.process.pid}/limits").read_text()
        checks.that(re.search(r"Max core file size +1 +1 ", limits), f"no core dump holds the keys: {limits}")


def test_log(store):
    with Service(*store, "--plain") as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        connection.request("POST", "/v1/SECRET-path?q=SECRET-query", body=b"SECRET-body",
                           headers={"X-Secret": "SECRET-header", "Authorization": "Bearer SECRET-token"})
        connection.getresponse().read()
        connection.close()
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as one:
            one.sendall(b"SECRET-METHOD /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            everything(one)
        service.stop()
        said = "".join(service.lines) + service.process.stderr.read()
        checks.that("SECRET" not in said, f"what a client sent is in the log: {said}")
        requests = [line for line in map(json.loads, service.lines) if line["event"] == "request"]
        checks.that(len(requests) == 2, f"{len(requests)} requests in the log")
        first = requests[0]
        checks.that((first["method"], first["route"], first["status"]) == ("POST", "other", 404), str(first))
        checks.that(set(first) == {"time", "event", "method", "route", "status", "bytes", "us"}, str(set(first)))
        checks.that(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"]), first["time"])
        checks.that(requests[1]["method"] == "other", str(requests[1]))
    for options, peers in (([], 0), (["--log-peers"], 3)):
        with Service(*store, "--plain", *options) as service:
            get(service.port, "/health")
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
            connection.request("POST", "/v1/manage/secret/get", headers={"Authorization": "Bearer x"})
            checks.that(connection.getresponse().read() != b"", "the management API refuses")
            connection.close()
            service.stop()
            lines = [line for line in map(json.loads, service.lines) if line["event"] in ("request", "management")]
            checks.that((len(lines), sum("peer" in line for line in lines)) == (3, peers), f"{options}: {lines}")
    with Service(*store, "--plain", "--quiet") as service:
        get(service.port, "/health")
        service.stop()
        checks.that(not any("request" in line for line in service.lines), "--quiet notes no request")


def test_memory(store, chain, key):
    def ask(connection, count):
        for _ in range(count):
            connection.request("POST", "/nowhere", body=b"x" * 5000)
            connection.getresponse().read()

    with Service(*store, "--plain", "--quiet") as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        ask(connection, 2_000)
        before = service.resident()
        ask(connection, 20_000)
        grown = service.resident() - before
        print(f"memory: {before} KiB resident, {grown:+} KiB after 20,000 requests more")
        checks.that(grown < 1024, f"memory grew by {grown} KiB over 20,000 requests")
    with Service(*store, "--certificate", chain, "--private-key", key, "--quiet") as service:
        context = trusting(chain)
        for _ in range(300):
            get(service.port, "/health", context=context)
        before = service.resident()
        for _ in range(2_000):
            get(service.port, "/health", context=context)
        grown = service.resident() - before
        print(f"memory: {before} KiB resident, {grown:+} KiB after 2,000 TLS connections more")
        checks.that(grown < 2048, f"memory grew by {grown} KiB over 2,000 TLS connections")


def test_many_clients(store, chain, key):
    with Service(*store, "--certificate", chain, "--private-key", key, "--quiet") as service:
        results = []

        def ask():
            connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE,
                                                     context=trusting(chain))
            for _ in range(20):
                connection.request("GET", "/health")
                answer = connection.getresponse()
                results.append((answer.status, len(answer.read()) > 0))
            connection.close()

        clients = [threading.Thread(target=ask) for _ in range(64)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        checks.that(len(results) == 64 * 20 and set(results) == {(200, True)}, f"{len(results)} {set(results)}")
        checks.that(service.stop() == 0, "stops")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store = make_store(folder)
        chain, key = make_certificate(folder, "service")
        test_options(store, chain, key)
        wiring.test_all(checks, folder, chain, key)
        test_tls_versions(store, chain, key)
        test_strangers_at_tls(store, chain, key)
        test_hanging_handshake(store, chain, key)
        test_certificate_files(store, chain, key, folder)
        test_secret_files(store, folder)
        test_renewal(store, folder)
        test_graceful_stop(store, chain, key)
        test_impatient_stop(store)
        test_stop_with_a_full_log(store)
        test_metrics(store)
        test_silent_connections(store, chain, key)
        test_strict_heads(store)
        test_core_dumps(store)
        test_log(store)
        test_many_clients(store, chain, key)
        test_memory(store, chain, key)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
