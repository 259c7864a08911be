# SPDX-License-Identifier: Apache-2.0

"""Attaches frida to a process and hooks a function; says "hooked", and detaches when its standard input ends."""

import sys

import frida

SCRIPT = """
Interceptor.attach(ptr(ADDRESS), { onLeave(result) { result.replace(1); } });
"""


def main():
    process, address = int(sys.argv[1]), sys.argv[2]
    session = frida.attach(process)
    script = session.create_script(SCRIPT.replace("ADDRESS", f'"{address}"'))
    script.load()
    print("hooked", flush=True)
    sys.stdin.read()
    script.unload()
    session.detach()


if __name__ == "__main__":
    main()
