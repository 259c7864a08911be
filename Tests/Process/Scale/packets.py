#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Passes TCP connections on, delays, doubles or cuts them, as it is told: `packets.py LISTEN:TARGET …`.

Both are ports of 127.0.0.1. It prints a line when it listens. Each line of its input is a JSON object with `links`
(listening ports) and one change, and gets a line of answer:

  {"links": [1], "is": "open"}     packets pass
  {"links": [1], "is": "cut"}      packets wait in both directions, and new connections get no answer: a cut cable
  {"links": [1], "is": "slow", "seconds": 0.2}   each packet is this late
  {"links": [1], "is": "twice"}    each packet passes twice
  {"links": [1], "is": "reset"}    connections end now; new ones pass

It ends with its input.
"""

import asyncio
import json
import sys


class Link:
    """One listening port: the connections through it, and the state of the line."""

    def __init__(self, port, target):
        self.port, self.target = port, target
        self.passes = asyncio.Event()
        self.passes.set()
        self.late = 0
        self.times = 1
        self.writers = set()

    async def accept(self, reader, writer):
        await self.passes.wait()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        ends = (writer, far_writer)
        self.writers.update(ends)
        try:
            await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))
        finally:
            self.writers.difference_update(ends)
            for end in ends:
                end.close()

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                if self.late:
                    await asyncio.sleep(self.late)
                await self.passes.wait()
                writer.write(data * self.times)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.transport.abort()

    def change(self, state, seconds):
        self.late = seconds if state == "slow" else 0
        self.times = 2 if state == "twice" else 1
        if state == "cut":
            self.passes.clear()
            return
        self.passes.set()
        if state == "reset":
            for writer in list(self.writers):
                writer.transport.abort()


async def main(pairs):
    links = {}
    for pair in pairs:
        port, target = map(int, pair.split(":"))
        links[port] = Link(port, target)
        await asyncio.start_server(links[port].accept, "127.0.0.1", port)
    print("listening", flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        order = json.loads(line)
        for port in order["links"]:
            links[port].change(order["is"], order.get("seconds", 0))
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
