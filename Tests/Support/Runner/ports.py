#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Ports of 127.0.0.1 for servers that must be told their port, as nginx, PostgreSQL and etcd must.

    ports.free_port()     a port that this process has until it ends
    ports.py COUNT        prints COUNT ports in a line, and has them until its input ends

Prefer port 0 where a server takes it and says which port it got.

Invariant: while the process that drew a port lives, no other draw on this machine gives it out, and the kernel gives it
to no connection and to no server with port 0. The server can therefore start, stop and start again on it.

- The port is outside of the range from which the kernel chooses ports. On a machine whose kernel chooses from all of
  RANGE, this part does not hold: the kernel may give a port to a connection while no server listens at it.
- The process holds the abstract socket `proofkit-port-N`. The kernel gives this name to one socket at a time, and takes
  it back when the process ends. A program that the process starts does not inherit it.
- No socket is bound to the port when it is drawn, neither for IPv4 nor for IPv6.

A server with a fixed port in RANGE that starts after the draw is not kept away.
"""

import errno
import pathlib
import random
import socket
import sys

RANGE = range(20_000, 30_000)


def chosen_by_kernel():
    """The ports that the kernel gives to connections and to servers with port 0."""
    first, last = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    return range(first, last + 1)


def is_bound(port):
    """Whether a socket has the port at any address of this machine."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family) as probe:
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port))
        except OSError as error:
            # A machine may have no IPv6.
            if family == socket.AF_INET or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                return True
    return False


def take(name):
    """A socket that holds a name, which no other socket of this machine has meanwhile; None if one has it."""
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        holder.bind(f"\0proofkit-port-{name}")
    except OSError:
        holder.close()
        return None
    return holder


def hold(port):
    """Takes the port for this process; whether it did."""
    holder = take(port)
    if holder is None:
        return False
    if is_bound(port):
        holder.close()
        return False
    _holders.append(holder)
    return True


def free_port():
    """A port that this process has until it ends."""
    while _untried:
        port = _untried.pop()
        if hold(port):
            return port
    raise RuntimeError(f"every port from {RANGE[0]} to {RANGE[-1]} is in use")


def candidates(kernels):
    """The ports that may be drawn, in random order, where the kernel chooses from `kernels`."""
    ports = random.sample(RANGE, len(RANGE))
    return [port for port in ports if port not in kernels] or ports


_holders = []
_untried = candidates(chosen_by_kernel())

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(*(free_port() for _ in range(int(sys.argv[1]))), flush=True)
    sys.stdin.read()
