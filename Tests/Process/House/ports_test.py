# SPDX-License-Identifier: Apache-2.0

"""Ports that Tests/Support/Runner/ports.py gives to servers: each is one process's own, and not the kernel's."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "Tests/Support/Runner/ports.py"
sys.path.append(str(PROGRAM.parent))
import ports  # noqa: E402


class PortsTest(unittest.TestCase):
    def start(self, count):
        """A process that draws ports and has them until its input is closed."""
        process = subprocess.Popen([sys.executable, "-B", PROGRAM, str(count)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process

    @staticmethod
    def drawn(process):
        return [int(port) for port in process.stdout.readline().split()]

    def test_no_port_is_given_to_two_processes(self):
        # Both draw at the same time.
        one, two = self.start(200), self.start(200)
        found = self.drawn(one) + self.drawn(two) + [ports.free_port() for _ in range(200)]
        self.assertEqual((len(found), len(set(found))), (600, 600))

    def test_no_port_is_one_that_the_kernel_chooses(self):
        first, last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        if first <= ports.RANGE[0] and ports.RANGE[-1] <= last:
            self.skipTest("the kernel of this machine chooses from all of the range")
        found = self.drawn(self.start(200))
        self.assertEqual([port for port in found if first <= port <= last or port < 1024], [])

    def test_a_kernel_that_chooses_from_a_part_or_from_all_leaves_ports_to_draw(self):
        self.assertEqual(set(ports.candidates(range(32_768, 61_000))), set(ports.RANGE))
        self.assertEqual(set(ports.candidates(range(20_010, 65_536))), set(range(20_000, 20_010)))
        self.assertEqual(set(ports.candidates(range(1_024, 65_536))), set(ports.RANGE))

    def test_a_name_is_held_until_its_process_ends_and_no_child_of_it_holds_it(self):
        # The name is this test's own. Another process may draw a port as soon as it is free.
        name = f"test-{os.getpid()}"
        text = (f"import subprocess, sys; sys.path.append({str(PROGRAM.parent)!r}); import ports\n"
                f"holder = ports.take({name!r})\n"
                "child = subprocess.Popen(['cat'], stdin=int(sys.argv[1]), stdout=subprocess.DEVNULL, "
                "close_fds=False)\n"
                "print('held', flush=True); sys.stdin.readline()")
        source, end = os.pipe()
        self.addCleanup(os.close, end)
        command = [sys.executable, "-B", "-c", text, str(source)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[source],
                              text=True) as process:
            os.close(source)
            self.assertEqual(process.stdout.readline(), "held\n")
            self.assertIsNone(ports.take(name))
            process.stdin.write("end\n")
            process.stdin.flush()
            self.assertEqual(process.wait(), 0)
            # The child lives until the test closes its pipe.
            with ports.take(name):
                self.assertIsNone(ports.take(name), "this process holds it")

    def test_a_port_with_a_server_is_not_given(self):
        port = ports.free_port()
        self.assertFalse(ports.hold(port), "this process has it")
        addresses = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0")]
        with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
            addresses.append((socket.AF_INET6, "::1"))
        for family, address in addresses:
            with socket.create_server((address, port), family=family):
                self.assertTrue(ports.is_bound(port), address)
            self.assertFalse(ports.is_bound(port), address)
            # This number is the kernel's: no process draws it.
            with socket.create_server((address, 0), family=family) as server:
                self.assertFalse(ports.hold(server.getsockname()[1]), address)


if __name__ == "__main__":
    unittest.main()
