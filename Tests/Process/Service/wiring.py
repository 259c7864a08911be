# SPDX-License-Identifier: Apache-2.0

"""The options of proof-service reach what they are for: secrets, limits, the log, the stop, the listener for events."""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import time

from recorded_waits import RecordedWaits
from service import BUILT, PATIENCE, Service, make_certificate, make_store, refusal

WORDS = "four words of tests"
CONNECTIONS_MORE = 128  # Files that are open beside two for each connection


def tool(*arguments, environment=None):
    done = subprocess.run([BUILT / "proofctl", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, env={**os.environ, **(environment or {})})
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def get(port, path):
    """Status, text and `Connection` of an answer."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers.get("Connection")


def wait_for(service, event, count):
    """Returns when the log has so many lines with this event."""
    def is_there():
        return sum(json.loads(line)["event"] == event for line in service.lines) >= count
    with service.events:
        if not service.events.wait_for(is_there, timeout=PATIENCE):
            raise TimeoutError(f"{count} times {event}: {service.lines[-5:]}")


def test_passphrases(checks, folder):
    store = folder / "phrased"
    options = ["--store", store, "--plain"]
    tool("init", "demo", "--store", store, "--url", "https://127.0.0.1:8443", environment={"PROOF_PASSPHRASE": WORDS})
    file = folder / "passphrase"
    file.touch(mode=0o600)
    for end in ("", "\n", "\r\n", "\n\r\n"):
        file.write_text(WORDS + end, newline="")
        with Service(*options, "--passphrase-file", file) as service:
            checks.that(get(service.port, "/health")[0] == 200, f"a passphrase before {end!r} opens the store")
    none = "The passphrase is “”; allowed: at least one character."
    for text, words in ((WORDS + " ", "not this account's"), ("\n" + WORDS, "not this account's"),
                        (WORDS[:-1], "not this account's"), ("\n", none), ("", none)):
        file.write_text(text, newline="")
        status, said = refusal(*options, "--passphrase-file", file)
        checks.that(status == 1 and words in said, f"{text!r}: {status} {said}")
    with Service(*options, environment={"PROOF_PASSPHRASE": WORDS}) as service:
        seen = pathlib.Path(f"/proc/{service.process.pid}/environ").read_bytes()
        checks.that(b"PROOF_PASSPHRASE=" in seen and WORDS.encode() not in seen, "a passphrase is wiped where it stood")
        checks.that(get(service.port, "/health")[0] == 200, "a passphrase from the environment opens the store")
    status, said = refusal(*options, environment={"PROOF_PASSPHRASE": "other words"})
    checks.that(status == 1 and "The passphrase is not this account's" in said, said)
    environment = {name: value for name, value in os.environ.items() if name != "PROOF_PASSPHRASE"}
    done = subprocess.run([BUILT / "proof-service", *map(str, options)], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, env=environment)
    checks.that(done.returncode == 1 and "the store's key is missing: --key-file" in done.stderr, done.stderr)


def test_key_files(checks, folder, store):
    place = store[:2] + ["--plain"]
    key = pathlib.Path(store[3]).read_bytes()
    file = folder / "other-key"
    for mode, is_taken in ((0o600, True), (0o640, True), (0o604, False), (0o644, False), (0o601, True)):
        file.write_bytes(key)
        file.chmod(mode)
        if is_taken:
            with Service(*place, "--key-file", file) as service:
                checks.that(get(service.port, "/health")[0] == 200, f"a key file of mode {mode:o}")
                held = [os.readlink(one) for one in pathlib.Path(f"/proc/{service.process.pid}/fd").iterdir()]
                checks.that(str(file) not in held, f"the key file is closed: {held}")
        else:
            status, said = refusal(*place, "--key-file", file)
            checks.that(status == 1 and f"everyone on this machine can read {file}: chmod o-rwx {file}" in said, said)
    file.chmod(0o600)
    for size, words in ((65_536, "The key file is not this account's"),
                        (65_537, f"{file} has 65537 bytes; at most 65536 are taken")):
        file.write_bytes(b"\7" * size)
        status, said = refusal(*place, "--key-file", file)
        checks.that(status == 1 and words in said, f"{size} bytes: {status} {said}")


def test_authorities(checks, folder, store):
    file = folder / "authorities.pem"
    for size, words in ((1 << 20, "a part of it is no certificate"), ((1 << 20) + 1, "it is too long")):
        file.write_bytes(b"\n" * size)
        status, said = refusal(*store, "--plain", "--tpm-authorities", file)
        checks.that(status == 1 and f"{file} cannot be read: {words}" in said, f"{size} bytes: {said}")


def test_certificates(checks, folder, store, chain, key):
    """Files of 256 KiB are read, and longer ones are not."""
    for place in (chain, key):
        text = place.read_text()
        file = folder / "long.pem"
        for size in (262_144, 262_145):
            file.write_text("#" * (size - len(text) - 1) + "\n" + text)
            file.chmod(0o600)
            arguments = ["--certificate", file, "--private-key", key] if place is chain else [
                "--certificate", chain, "--private-key", file]
            if size == 262_144:
                with Service(*store, *arguments) as service:
                    checks.that(service.stop() == 0, f"a file of {size} bytes")
            else:
                status, said = refusal(*store, *arguments, "--listen", "127.0.0.1:0")
                checks.that(status == 1 and f"cannot read {file}: File too large" in said, f"{size} bytes: {said}")


def test_first_line(checks, store, chain, key):
    with Service(*store, "--plain") as service:
        line = json.loads(service.lines[0])
        del line["time"]
        checks.that(line == {"event": "listening", "address": "127.0.0.1", "port": service.port, "tls": "no"}, line)
        # No word of a time to leave where none was asked for.
        checks.that(service.stop() == 0, "stops")
        names = [json.loads(line)["event"] for line in service.lines]
        checks.that(names == ["listening", "stopping", "stopped"], names)
    with Service(*store, "--certificate", chain, "--private-key", key) as service:
        checks.that(json.loads(service.lines[0])["tls"] == "yes", service.lines[0])
    process = subprocess.Popen([BUILT / "proof-service", *store, "--plain", "--listen", "127.0.0.1:0"], text=True,
                               stdout=subprocess.PIPE)
    with process:
        first = process.stdout.readline()
        form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z listening address=127\.0\.0\.1 port=\d+ tls=no\n"
        checks.that(re.fullmatch(form, first), f"a log of text: {first}")
        process.terminate()


def test_addresses(checks, store):
    """An address of other machines needs a word more, and the port is 8443 where none is named."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            own.bind(("127.0.0.1", 8443))
            own.listen()
        status, said = refusal(*store, "--plain")
        checks.that(status == 1 and "cannot listen on port 8443 of 127.0.0.1" in said, said)
    process = subprocess.Popen([BUILT / "proof-service", *store, "--plain", "--insecure", "--listen", "0.0.0.0:0"],
                               text=True, stdout=subprocess.PIPE)
    with process:
        first = process.stdout.readline()
        checks.that(" listening address=0.0.0.0 port=" in first, f"an address of other machines: {first}")
        process.terminate()


def test_leaving(checks, store):
    with Service(*store, "--plain", "--leave-seconds", 3600) as service:
        checks.that(get(service.port, "/health") == (200, "ok\n", None), "well before the stop")
        service.signal(signal.SIGTERM)
        checks.that(service.wait_for("leaving")["seconds"] == 3600, service.lines[-1])
        for path, answer in (("/health", (503, "leaving\n", "close")), ("/v1/config/none", (404, None, "close"))):
            status, text, connection = get(service.port, path)
            checks.that((status, connection) == (answer[0], answer[2]) and answer[1] in (None, text),
                        f"{path} while it leaves: {status} {text} {connection}")
        service.signal(signal.SIGTERM)
        checks.that(service.ended() == -signal.SIGTERM, "a second signal ends it at once")
        checks.that(not any("stopping" in line for line in service.lines), service.lines[-2:])


def test_stop_times(checks, folder, store):
    """The time that a stop waits, which passes at once here, and the shortest time to leave."""
    for options, seconds in (((), 30), (("--drain-seconds", 25), 25)):
        waits = RecordedWaits(folder)
        waits.file.unlink(missing_ok=True)
        with Service(*store, "--plain", *options, environment=waits.environment) as service:
            with silent(service.port) as one:
                one.sendall(b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
                checks.that(one.recv(4096).startswith(b"HTTP/1.1 100 "), "a request is in flight")
                checks.that(service.stop() == 1, f"{options}: it was given up")
        found = [wait for wait, in waits.of("condition")]
        checks.that(found == [float(seconds)], f"{options}: a stop waits for {found}")
    with Service(*store, "--plain", "--leave-seconds", 1) as service:
        service.signal(signal.SIGTERM)
        checks.that(service.wait_for("leaving")["seconds"] == 1, "a second to leave")
        service.process.kill()


def silent(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def test_limits(checks, store):
    for options, count in ((("--connections-per-address", 2), 2),
                           (("--connections", 8, "--connections-per-address", 0), 8)):
        with Service(*store, "--plain", "--quiet", *options) as service, contextlib.ExitStack() as stack:
            held = [stack.enter_context(silent(service.port)) for _ in range(count - 1)]
            last = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
            stack.callback(last.close)
            # The service has begun with each of them.
            text = ""
            while f"\nproof_connections_total {count}\n" not in text:
                last.request("GET", "/metrics")
                text = last.getresponse().read().decode()
            checks.that("\nproof_connections_displaced_total 0\n" in text, f"{options}: {count} connections have room")
            checks.that(get(service.port, "/health")[0] == 200, f"{options}: a further connection is served")
            checks.that(held[0].recv(1) == b"", f"{options}: the eldest silent one made room")
            last.request("GET", "/metrics")
            text = last.getresponse().read().decode()
            checks.that("\nproof_connections_displaced_total 1\n" in text, f"{options}: no other one did")
    with Service(*store, "--plain", "--quiet", "--idle-seconds", 1) as service, silent(service.port) as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        said = b""
        began = time.monotonic()
        while part := one.recv(65536):
            said += part
        checks.that(said.startswith(b"HTTP/1.1 200") and time.monotonic() - began < 30, "an idle connection is closed")

    def threads(*options):
        with Service(*store, "--plain", *options) as service:
            status = pathlib.Path(f"/proc/{service.process.pid}/status").read_text()
            return int(re.search(r"^Threads:\s+(\d+)$", status, re.MULTILINE).group(1))

    usual = threads()
    checks.that(threads("--threads", 8) == usual and threads("--threads", 11) == usual + 3, "threads that answer")


def test_open_files(checks, store):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for allowed, options, expected in ((256, (), 2 * 1024), (256, ("--connections", 2000), 2 * 2000),
                                           (2 * 1024 + CONNECTIONS_MORE + 7, (), 2 * 1024 + 7)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            with Service(*store, "--plain", *options) as service:
                limits = pathlib.Path(f"/proc/{service.process.pid}/limits").read_text()
                found = int(re.search(r"^Max open files\s+(\d+)", limits, re.MULTILINE).group(1))
                checks.that(found == expected + CONNECTIONS_MORE, f"{options}: {found} files of {expected}")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # The system's own limit may be exactly that, and not less.
    for allowed in (2 * 1024 + CONNECTIONS_MORE, 2 * 1024 + CONNECTIONS_MORE - 1):
        process = subprocess.Popen(
            ["bash", "-c", f'ulimit -n {allowed}; exec "$@"', "bash", BUILT / "proof-service", *store, "--plain",
             "--listen", "127.0.0.1:0"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            first = process.stdout.readline()
            process.terminate()
            said = process.stderr.read()
        if allowed % 2:
            words = "2176 files may have to be open at once, and the system allows 2175: lower --connections"
            checks.that(first == "" and process.returncode == 1 and words in said, f"{allowed} files: {first}{said}")
        else:
            checks.that(" listening " in first and process.returncode == 0, f"{allowed} files: {first}{said}")


class Office:
    """A backend that redeems event tokens at a service."""

    def __init__(self, port, credential, context=None):
        self.port, self.credential, self.context = port, credential, context

    def ask(self, event=3300, path="/v1/event"):
        """Status, and the reason of the judgement."""
        more = {"timeout": PATIENCE} | ({"context": self.context} if self.context else {})
        kind = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
        with contextlib.closing(kind("127.0.0.1", self.port, **more)) as connection:
            connection.request("POST", path, json.dumps({"token": "A", "event": event}),
                               {"Authorization": f"Bearer {self.credential}"})
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, json.loads(body).get("reason") if answer.status == 200 else None


def credentials(file, *tokens):
    until = int(time.time()) + 3600
    file.touch(mode=0o600)
    file.write_text("".join(f"shop{number} {hashlib.sha256(token.encode()).hexdigest()} {until}\n"
                            for number, token in enumerate(tokens)))


def prepare_events(folder, store):
    """An account with a gate and its events; and the options of the listener."""
    def account(*arguments):
        return tool(*arguments, *store)
    (folder / "gate.public").write_text(tool("gate", "keys", "new", folder / "gate.key"))
    account("gate", "add", "front", "--public", folder / "gate.public", "--development")
    account("event", "add", "3300-3310", "--gate", "front", "--audience", "shop")
    own, file = folder / "own.key", folder / "event.credentials"
    own.touch(mode=0o600)
    own.write_bytes(os.urandom(32))
    credentials(file, "one")
    return account, file, [
        "--events", "127.0.0.1:0", "--event-gate", "front", "--event-audience", "shop", "--event-own-secret",
        f"1:{own}", "--event-credentials", file, "--event-replay", "memory"]


def test_events(checks, folder, store):
    account, file, options = prepare_events(folder, store)
    with Service(*store, "--plain", *options) as service:
        port = json.loads(service.lines[0])["events"]
        first, second = Office(port, "one"), Office(port, "two")
        checks.that(first.ask() == (200, "malformed"), f"a token that is none: {first.ask()}")
        checks.that(second.ask()[0] == 401, "a credential that is not in the file")
        checks.that(Office(service.port, "one").ask()[0] == 404, "the listener of apps redeems nothing")
        credentials(file, "two")
        checks.that(first.ask()[0] == 200, "no credential is taken back before the signal")
        service.signal(signal.SIGHUP)
        wait_for(service, "certificate not renewed", 1)
        checks.that((first.ask()[0], second.ask()[0]) == (401, 200), "SIGHUP reads the credentials again")
        file.write_text("rubbish")
        service.signal(signal.SIGHUP)
        wait_for(service, "certificate not renewed", 2)
        checks.that(service.wait_for("event credentials not taken")["reason"].endswith("stay in use."), "the reason")
        checks.that(second.ask()[0] == 200, "the credentials of before stay in use")
        # The account as it is now counts.
        checks.that(second.ask(3400) == (200, "unlisted-event"), "an event that is not listed")
        account("event", "add", "3400-3401", "--gate", "front", "--audience", "shop")
        checks.that(second.ask(3400) == (200, "malformed"), "an event that was added meanwhile")
        account("event", "remove", "3400-3401")
        checks.that(second.ask(3400) == (200, "unlisted-event"), "an event that was removed meanwhile")
        account("event", "remove", "3300-3310")
        checks.that(second.ask()[0] == 503, "no event of the audience is left")
        reason = service.wait_for("events not judged")["reason"]
        checks.that("audience" in reason and "shop" in reason, reason)
        account("event", "add", "3300-3310", "--gate", "front", "--audience", "shop")
        checks.that(second.ask() == (200, "malformed"), "events are judged again")
        text = get(service.port, "/metrics")[1]
        checks.that(re.search(r'^proof_service_events_total\{result="malformed"\} \d+$', text, re.MULTILINE), text)
        checks.that('route="/v1/event",method="POST",status="401"' in text, "requests of backends are measured")
        # A gate of the same name with other keys: the service would judge by the wrong ones.
        account("event", "remove", "3300-3310")
        account("gate", "remove", "front")
        account("gate", "add", "front", "--public", folder / "gate.public", "--development")
        account("event", "add", "3300-3310", "--gate", "front", "--audience", "shop")
        checks.that(second.ask()[0] == 503, "another gate of the name")
        service.stop()
        checks.that(any("the gate front is another one than at the start" in line for line in service.lines),
                    "the log says why")
    credentials(file, "one")
    # A question of a backend that is in flight counts as one of an app does.
    with Service(*store, "--plain", *options, "--drain-seconds", 0) as service:
        with silent(json.loads(service.lines[0])["events"]) as one:
            one.sendall(b"POST /v1/event HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
            checks.that(one.recv(4096).startswith(b"HTTP/1.1 100 "), "a question is in flight")
            checks.that(service.stop() == 1, "a question was given up: status 1")
            checks.that(json.loads(service.lines[-1])["unfinished"] == "yes", service.lines[-1])
    files = make_certificate(folder, "events")
    with Service(*store, *options, "--certificate", files[0], "--private-key", files[1]) as service:
        port = json.loads(service.lines[0])["events"]
        old = ssl.create_default_context(cafile=str(files[0]))
        checks.that(Office(port, "one", old).ask() == (200, "malformed"), "events over TLS")
        make_certificate(folder, "events")
        service.signal(signal.SIGHUP)
        wait_for(service, "certificate renewed", 1)
        new = ssl.create_default_context(cafile=str(files[0]))
        checks.that(Office(port, "one", new).ask() == (200, "malformed"), "the listener for events has the new one")
        with contextlib.suppress(ssl.SSLCertVerificationError):
            checks.that(Office(port, "one", old).ask() is None, "the old certificate is served no more")


def test_reports(checks, folder, store):
    """A report is a line of the log, and none where requests are not logged."""
    for options, count in (([], 1), (["--quiet"], 0)):
        with Service(*store, "--plain", *options) as service:
            subprocess.run(
                [BUILT / "proof-load", "--to", f"127.0.0.1:{service.port}", "--pairs", "1", "--connections", "1",
                 "--devices", "1", "--domain", "api.example.com", "--tokens", folder / "tokens", "--json"],
                check=False, capture_output=True, timeout=PATIENCE)
            checks.that((folder / "tokens").stat().st_size > 4, "the app gets a token")
            service.stop()
            found = sum(json.loads(line)["event"] == "report" for line in service.lines)
            checks.that(found == count, f"{options}: {found} reports in the log")


def test_all(checks, folder, chain, key):
    folder = folder / "wiring"
    folder.mkdir()
    store = make_store(folder)
    test_passphrases(checks, folder)
    test_key_files(checks, folder, store)
    test_authorities(checks, folder, store)
    test_certificates(checks, folder, store, chain, key)
    test_first_line(checks, store, chain, key)
    test_addresses(checks, store)
    test_leaving(checks, store)
    test_stop_times(checks, folder, store)
    test_limits(checks, store)
    test_open_files(checks, store)
    test_reports(checks, folder, store)
    test_events(checks, folder, store)
