# SPDX-License-Identifier: Apache-2.0

"""The tools that attack, and what several attacks do."""

import subprocess

from stage import HERE, PYTHON, where


class Tool:
    """A tool that stays beside the app. `wait_for` reads its output up to a word: no guess at how long it takes."""

    def __init__(self, command, stream="stdout", stdin=subprocess.PIPE):
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: subprocess.PIPE}
        self.process = subprocess.Popen([str(word) for word in command], stdin=stdin, text=True, **streams)
        self.output = getattr(self.process, stream)

    def wait_for(self, word):
        seen = ""
        while word not in seen:
            character = self.output.read(1)
            if not character:
                raise RuntimeError(f"{self.process.args[0]} ended: {seen.strip()[-200:]}")
            seen += character
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def gdb(app, *commands, wrapper=()):
    """gdb attached to the app, which runs on under it. Without input it ends where it cannot attach."""
    script = [word for command in ("set pagination off", "set confirm off", *commands) for word in ("-ex", command)]
    return Tool([*wrapper, "gdb", "-nx", "-q", "-p", app.pid, *script, "-ex", "continue"],
                stdin=subprocess.DEVNULL).wait_for("Continuing.")


def strace(app, wrapper=()):
    return Tool([*wrapper, "strace", "-f", "-o", "/dev/null", "-p", app.pid], "stderr").wait_for("attached")


def frida(app, wrapper=()):
    address = hex(where(app)["may_open"])
    return Tool([*wrapper, PYTHON, HERE / "hook.py", app.pid, address], stream="stdout").wait_for("hooked")


def write_memory(pid, address, data):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(data)


def read_memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def mount_over(source, target):
    subprocess.run(["mount", "--bind", source, target], check=True)
    return lambda: subprocess.run(["umount", target], check=True)
