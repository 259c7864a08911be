#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""kill -9 of the service under load, again and again: `kill.py [ROUNDS]`, 100 if missing.

It is killed while devices attest and apps are registered. After each restart

- every report that was accepted before the kill is sent again, and must get the same answer, byte for byte; another
  report under its salt must be refused: no salt is accepted twice;
- every device whose report was answered is known, and every app whose registration was acknowledged is registered;
- the service goes on where it stopped.

How long each restart takes, from the start of the process to its first answer, is reported; the figure asked for is
under a second.
"""

import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from checks import Checks  # noqa: E402
from service import BUILT, PATIENCE, Service, make_store  # noqa: E402

# How long a round's load lasts before the kill: from before the first report to many of them.
LOAD_SECONDS = (0.02, 0.6)
CONNECTIONS = 16
# Where a report holds the id of its device: head, key id, salt.
DEVICE = slice(4 + 8 + 16, 4 + 8 + 16 + 16)


def exchanges_of(path):
    """The reports of a file that proof-load wrote, each with its answer. The kill may have cut the last one short."""
    data = path.read_bytes() if path.exists() else b""
    parts, place = [], 0
    while len(data) >= place + 4:
        size = int.from_bytes(data[place:place + 4], "little")
        if len(data) < place + 4 + size:
            break
        parts.append(data[place + 4:place + 4 + size])
        place += 4 + size
    return list(zip(parts[::2], parts[1::2]))


def listed(verb, folder):
    done = subprocess.run([BUILT / "service-store", verb, folder], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def load(service, *options):
    return subprocess.Popen(
        [BUILT / "proof-load", "--to", f"127.0.0.1:{service.port}", "--connections", str(CONNECTIONS), "--json",
         *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start(store):
    """The service, and how many milliseconds went by before it answered."""
    begin = time.monotonic()
    service = Service(*store, "--plain", "--quiet", "--trusted-proxy", "127.0.0.1")
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return service, status, (time.monotonic() - begin) * 1000


def replayed(service, path):
    """The outcomes of reports that are sent again."""
    sender = load(service, "--replay", path)
    out, problem = sender.communicate(timeout=PATIENCE)
    figures = json.loads(out)
    return figures["outcomes"], figures["errors"], problem


def register(service, token, acknowledged):
    """Registers apps over HTTP until the service is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    while True:
        digest = os.urandom(32).hex()
        try:
            connection.request("POST", "/v1/manage/registration/add", headers={"Authorization": f"Bearer {token}"},
                               body=json.dumps({"digest": digest, "name": "app"}))
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            return
        if answer.status != 200:
            raise RuntimeError(f"registration refused: {answer.status} {said}")
        acknowledged.add(digest)


def kill_under_load(service, folder, accepted, seconds):
    """Kills the service in the middle of its work. Returns the apps whose registration was acknowledged."""
    acknowledged = set()
    token = (folder / "management-token").read_text()
    sender = load(service, "--accepted", accepted, "--seconds", 600)
    registrar = threading.Thread(target=register, args=(service, token, acknowledged))
    registrar.start()
    time.sleep(seconds)  # what is random here is the moment of the kill
    service.process.kill()
    registrar.join()
    # It gives up when its connections break, and has then written down all that was accepted.
    sender.communicate(timeout=PATIENCE)
    service.__exit__()
    return acknowledged


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    draw = random.Random(seed)
    print(f"{rounds} rounds, seed {seed}")
    checks = Checks()
    restarts, registered, accepted_count = [], set(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store = make_store(folder)
        before = folder / "accepted.none"
        everything = folder / "accepted.all"
        for number in range(rounds + 1):
            service, status, milliseconds = start(store)
            restarts.append(milliseconds)
            checks.that(status == 200, f"round {number}: /health says {status}")
            with service:
                accepted = exchanges_of(before)
                before.write_bytes(b"".join(len(one).to_bytes(4, "little") + one
                                            for exchange in accepted for one in exchange))
                with everything.open("ab") as file:
                    file.write(before.read_bytes())
                accepted_count += len(accepted)
                # The salts of the last round have not expired: only that they were used can refuse another report.
                outcomes, errors, problem = replayed(service, before)
                wanted = {"same": len(accepted), "other askAgain": len(accepted)} if accepted else {}
                checks.that(outcomes == wanted and not errors,
                            f"round {number}: of {len(accepted)} accepted reports: {outcomes} {errors} {problem}")
                devices = {report[DEVICE].hex() for report, _ in accepted}
                lost = devices - listed("devices", folder)
                checks.that(not lost, f"round {number}: {len(lost)} of {len(devices)} devices are lost")
                lost = registered - listed("registrations", folder)
                checks.that(not lost, f"round {number}: {len(lost)} of {len(registered)} registrations are lost")
                if number == rounds:
                    outcomes, errors, problem = replayed(service, everything)
                    # Some have expired meanwhile. None gets another answer than its first.
                    others = outcomes.pop("other askAgain", 0)
                    checks.that(others == sum(outcomes.values()) == accepted_count and not errors
                                and not outcomes.keys() - {"same", "askAgain"},
                                f"all {accepted_count} accepted reports: {outcomes} {errors} {problem}")
                    checks.that(service.stop() == 0, "stops")
                    break
                before = folder / f"accepted.{number}"
                registered |= kill_under_load(service, folder, before, draw.uniform(*LOAD_SECONDS))
    checks.that(accepted_count > rounds, f"only {accepted_count} reports were accepted: nothing was under load")
    checks.that(len(registered) > rounds, f"only {len(registered)} apps were registered")
    restarts.sort()
    print(f"{accepted_count} reports accepted, {len(registered)} apps registered, {rounds} kills; restart in ms: "
          f"median {restarts[len(restarts) // 2]:.0f}, longest {restarts[-1]:.0f}")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
