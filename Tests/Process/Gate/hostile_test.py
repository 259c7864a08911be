#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Hostile requests through nginx, and many clients at once: no crash, no pass, and bounded memory.

PROOF_HOSTILE says how many requests; 20,000 if missing. PROOF_SEED repeats a run: it is printed.
"""

import asyncio
import os
import pathlib
import random
import resource
import socket
import ssl
import unittest

import gate_test
from parties import HOST, PATIENCE, Prover, block, start_nginx, stop_nginx
from proxied import Behind

COUNT = int(os.environ.get("PROOF_HOSTILE", "20000"))
SEED = int(os.environ.get("PROOF_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 40)
CLIENTS = 1000
# Beyond what the gate has after the first tenth of the requests. Tables have a fixed size, and are warm by then.
GROWTH = 16 << 20
# Challenges of one client after another.
CHALLENGES = 20_000
PAID = "route paid\n  path /paid\n  need work 8\n\n"
FIELDS = ("Signature", "Signature-Input", "Proof-Token", "Proof-Ticket", "Proof-Challenge", "Proof-Answer",
          "Proof-Clearance", "Proof-Bypass", "Proof-Verdict", "Proof-Account", "Proof-Route", "Cookie",
          "Content-Digest", "Authorization", "X-Original-URI", "X-Original-Method", "X-Original-Request-ID",
          "X-Forwarded-For", "X-HTTP-Method-Override", "Content-Type", "Origin", "Accept")
TEXT = [chr(code) for code in range(0x20, 0x7F)]


class Hostile(Behind, unittest.TestCase):
    heading = "nginx"
    options = ("--quiet",)
    stop_proxy = classmethod(gate_test.Nginx.stop_proxy.__func__)

    @classmethod
    def start_proxy(cls, api):
        gate_test.Nginx.start_proxy.__func__(cls, api)
        # Each client has two connections of nginx.
        path = pathlib.Path(cls.site.path("nginx.conf"))
        path.write_text(path.read_text().replace("events {}", "worker_rlimit_nofile 16384;"
                                                              " events { worker_connections 8192; }"))
        stop_nginx(cls.site.folder, path)
        start_nginx(cls.site.folder, path)

    def setUp(self):
        self.site.write("routes", PAID + block("Rules", "text"))
        self.gate.hang_up()

    def memory(self):
        status = pathlib.Path(f"/proc/{self.gate.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    # Requests

    def bases(self, chance):
        """Fields of requests that must not pass: a proof that was used, and one by another key."""
        used = self.prover.prove("POST", "/orders", b"x")
        self.passes("POST", "/orders", used, b"x")
        forged = Prover.__new__(Prover)
        forged.key, forged.handle, forged.token = chance.randbytes(32), self.prover.handle, self.prover.token
        forged.authority = self.prover.authority
        _, fields, _ = self.client.send("GET", "/paid")
        challenge = fields["Proof-Challenge"]
        texts = [challenge, "A" * 80, "A" * 108, self.prover.token, self.prover.handle]
        return [used, forged.prove("POST", "/orders", b"x"), []], texts

    def changed(self, chance, text):
        text = list(text)
        for _ in range(chance.randint(1, 4)):
            place = chance.randint(0, len(text))
            kind = chance.randrange(4)
            if kind == 0 and place < len(text):
                text[place] = chance.choice(TEXT)
            elif kind == 1:
                text.insert(place, chance.choice(TEXT))
            elif kind == 2:
                del text[place:place + chance.randint(1, 8)]
            else:
                text[place:place] = text[max(0, place - 8):place]
        return "".join(text).strip()

    def request(self, chance, bases, texts):
        fields = list(chance.choice(bases))
        for _ in range(chance.randint(0, 3)):
            if fields and chance.random() < 0.6:
                index = chance.randrange(len(fields))
                fields[index] = (fields[index][0], self.changed(chance, fields[index][1]))
            else:
                value = chance.choice(texts)
                name = chance.choice(FIELDS)
                if name == "Cookie":
                    value = f"__Host-proof-clearance={value}"
                fields.append((name, self.changed(chance, value) if chance.random() < 0.7 else value))
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        target = chance.choice(("/orders", "/orders/7", "/account", "/orders%2f", "/paid"))
        return f"POST {target} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1\r\n{lines}\r\nx".encode()

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return self.client.context.wrap_socket(plain, server_hostname=HOST)

    def statuses(self, requests):
        """The statuses of requests on one connection, which nginx may end early."""
        found = []
        tls = self.connect()
        try:
            reader = tls.makefile("rb")
            for request in requests:
                tls.sendall(request)
                line = reader.readline()
                if not line:
                    break
                found.append(int(line.split()[1]))
                length, ends = 0, False
                while (field := reader.readline().strip().lower()):
                    length = int(field.split(b":")[1]) if field.startswith(b"content-length:") else length
                    ends = ends or field == b"connection: close"
                    self.assertFalse(field.startswith(b"transfer-encoding:"))
                reader.read(length)
                if ends:
                    break
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            tls.close()
        return found

    def test_hostile_requests_pass_never_and_cost_no_memory(self):
        print(f"PROOF_SEED={SEED} PROOF_HOSTILE={COUNT}")
        chance = random.Random(SEED)
        bases, texts = self.bases(chance)
        before, warm, sent, found = len(self.api.seen), None, 0, {}
        while sent < COUNT:
            batch = [self.request(chance, bases, texts) for _ in range(100)]
            for status in self.statuses(batch):
                found[status] = found.get(status, 0) + 1
                sent += 1
            if warm is None and sent >= COUNT // 10:
                warm = self.memory()
        growth = self.memory() - warm
        print(f"statuses {found}, growth {growth >> 10} KiB")
        self.assertEqual(len(self.api.seen), before, "none reached the API")
        self.assertNotIn(200, found)
        self.assertFalse([status for status in found if status >= 500], found)
        self.assertLess(growth, GROWTH)
        self.assertIsNone(self.gate.process.poll())
        self.passes("POST", "/orders", self.prover.prove("POST", "/orders", b"x"), b"x")

    def test_many_clients_at_once_get_challenges_of_their_own(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CLIENTS)), hard))

        async def client(start):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.client.context,
                                                           server_hostname=HOST, ssl_handshake_timeout=PATIENCE)
            start.release()
            await self.all.wait()
            writer.write(f"GET /paid HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            answer = (await asyncio.wait_for(reader.read(), PATIENCE)).decode()
            writer.close()
            status = int(answer.split(" ", 2)[1])
            ids = [line.split(": ")[1] for line in answer.split("\r\n") if line.lower().startswith("proof-challenge:")]
            return status, ids[0] if ids else None

        async def all_clients():
            self.all, start = asyncio.Event(), asyncio.Semaphore(0)
            tasks = [asyncio.create_task(client(start)) for _ in range(CLIENTS)]
            for _ in range(CLIENTS):
                await start.acquire()
            self.all.set()
            return await asyncio.gather(*tasks)
        found = asyncio.run(all_clients())
        self.assertEqual({status for status, _ in found}, {428})
        self.assertEqual(len({challenge for _, challenge in found}), CLIENTS)

    def test_a_challenge_is_kept_nowhere(self):
        # One connection after the other: the memory of many at once depends on how many the machine serves at a time.
        batch = [f"GET /paid HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()] * 100
        sizes = []
        for _ in range(2):
            for _ in range(CHALLENGES // len(batch)):
                self.assertEqual(self.statuses(batch), [428] * len(batch))
            sizes.append(self.memory())
        self.assertLess(sizes[1] - sizes[0], 64 * CHALLENGES)
