#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Complete attestations a second, plain and over TLS, load generator and service on the same machine.

`load.py [--seconds N] [--connections N] [--hour]`: with --hour also 10,000 devices that attest every five minutes for
an hour, as fast as they are answered: 120,000 attestations without an error, and without memory that grows.

Rates and times are reported, never asserted; errors, and memory, are.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from checks import Checks  # noqa: E402
from service import BUILT, Service, let_unregistered_apps_pass, make_certificate, make_store  # noqa: E402

DEVICES = 10_000
HOUR_PAIRS = DEVICES * 12
GROWTH_MAX_KIB = 8 << 10
# Log that a restart may have to read again: SQLite moves it into the store at 4 MiB, if no reader is in the way.
LOG_MAX_KIB = 16 << 10
TICKS_PER_SECOND = 100


def processor_seconds(service):
    fields = pathlib.Path(f"/proc/{service.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def run(service, *options):
    """The figures of one load, and the processor time that it cost the service."""
    before = processor_seconds(service)
    done = subprocess.run([BUILT / "proof-load", "--to", f"127.0.0.1:{service.port}", "--json", *map(str, options)],
                          capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    figures = json.loads(done.stdout)
    return figures, processor_seconds(service) - before


def show(name, figures, processor):
    pairs = figures["answered"]
    both = processor + figures["clientProcessorSeconds"]
    challenge, report = figures["challengeMicroseconds"], figures["reportMicroseconds"]
    print(f"{name}: {figures['pairsPerSecond']} attestations a second over {figures['connections']} connections; "
          f"challenge p50 {challenge['p50'] / 1000:.1f} ms, p99 {challenge['p99'] / 1000:.1f} ms; "
          f"report p50 {report['p50'] / 1000:.1f} ms, p99 {report['p99'] / 1000:.1f} ms; "
          f"processor time each: service {1e6 * processor / pairs:.0f} us, "
          f"generator {1e6 * figures['clientProcessorSeconds'] / pairs:.0f} us; "
          f"both had {100 * both / (figures['seconds'] * os.cpu_count()):.0f} % of {os.cpu_count()} processors, "
          f"others ran {os.getloadavg()[0]:.0f} at once", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--hour", action="store_true")
    options = parser.parse_args()
    checks = Checks()

    def done_only(name, figures):
        checks.that(set(figures["outcomes"]) == {"done"} and not figures["errors"],
                    f"{name}: {figures['outcomes']} {figures['errors']}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store = make_store(folder)
        let_unregistered_apps_pass(store)
        chain, key = make_certificate(folder, "service")
        shared = [*store, "--quiet", "--trusted-proxy", "127.0.0.1", "--threads", options.threads]
        load = ["--connections", options.connections, "--devices", DEVICES]
        with Service(*shared, "--plain") as service:
            figures, processor = run(service, *load, "--seconds", options.seconds)
            show("plain", figures, processor)
            done_only("plain", figures)
            if options.hour:
                # Every device has been seen once: from now on the service knows all that it will know.
                done_only("warm", run(service, *load, "--pairs", DEVICES)[0])
                before = service.resident()
                figures, processor = run(service, *load, "--pairs", HOUR_PAIRS)
                grown = service.resident() - before
                show(f"an hour of {DEVICES} devices in {figures['seconds']:.0f} s", figures, processor)
                print(f"memory: {before} KiB before, {grown:+} KiB after")
                done_only("hour", figures)
                checks.that(figures["answered"] == HOUR_PAIRS, f"{figures['answered']} of {HOUR_PAIRS} answered")
                checks.that(grown < GROWTH_MAX_KIB, f"memory grew by {grown} KiB")
                log = (folder / "store-wal").stat().st_size >> 10
                print(f"store: {(folder / 'store').stat().st_size >> 10} KiB, its log {log} KiB")
                checks.that(log < LOG_MAX_KIB, f"the store's log grew to {log} KiB")
            checks.that(service.stop() == 0, "stops")
        with Service(*shared, "--certificate", chain, "--private-key", key) as service:
            figures, processor = run(service, *load, "--tls", chain, "--seconds", options.seconds)
            show("TLS", figures, processor)
            done_only("TLS", figures)
            checks.that(service.stop() == 0, "stops")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
