"""What is done to a running app that was accepted a moment before: `(stage, app)`; may return what undoes it."""

import mmap
import os
import shutil
import subprocess
import sys

from stage import BUILD, where
from tools import Tool, frida, gdb, mount_over, read_memory, strace, write_memory

YES = bytes([0xB8, 1, 0, 0, 0, 0xC3])  # mov eax, 1 ; ret


def gdb_attached(_, app):
    return gdb(app).kill


def gdb_breakpoint(_, app):
    """gdb dies with its breakpoint in place: nothing is attached any more, one byte of code is int3."""
    gdb(app, "set breakpoint always-inserted on", f"break *{hex(where(app)['may_open'])}").kill()


def gdb_hardware_breakpoint(_, app):
    return gdb(app, f"hbreak *{hex(where(app)['may_open'])}").kill


def gdb_came_and_went(_, app):
    subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(app.pid), "-ex", "detach"], check=True, capture_output=True)


def gdb_loads_library(_, app):
    """The debugger makes the app load a library, and leaves."""
    library = BUILD / "libpreload.so"
    load = f'print ((void *(*)(const char *, int))dlopen)("{library}", 2) != 0'
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(app.pid), "-ex", load, "-ex", "detach"],
                          check=True, capture_output=True, text=True)
    if "$1 = 1" not in done.stdout:
        raise RuntimeError("gdb: " + done.stdout[-200:] + done.stderr[-200:])


def strace_attached(_, app):
    return strace(app).kill


def one_thread_traced(_, app):
    """A tracer of another thread than the first, which /proc/PID/status does not tell of."""
    app.ask("do thread")
    other = next(thread for thread in threads_of(app) if thread != app.pid)
    return Tool(["strace", "-o", "/dev/null", "-p", other], "stderr").wait_for("attached").kill


def frida_hooked(_, app):
    return frida(app).end


def threads_of(app):
    return [int(name) for name in os.listdir(f"/proc/{app.pid}/task")]


def frida_came_and_went(_, app):
    """Until its last thread has left: the app itself has one."""
    frida(app).end()
    while len(threads_of(app)) > 1:
        os.sched_yield()


def patched_from_outside(_, app):
    write_memory(app.pid, where(app)["may_open"], YES)


def patched_and_put_back(_, app):
    at = where(app)["may_open"]
    before = read_memory(app.pid, at, len(YES))
    write_memory(app.pid, at, YES)
    write_memory(app.pid, at, before)


def patched_executable_code(_, app):
    write_memory(app.pid, where(app)["ask"], YES)


def slot_from_outside(_, app):
    places = where(app)
    write_memory(app.pid, places["slot"], places["ask"].to_bytes(8, sys.byteorder))


def vdso_from_outside(_, app):
    """The last bytes of the kernel's own library, which nothing runs: the app goes on."""
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as maps:
        vdso = next(line for line in maps if "[vdso]" in line)
    write_memory(app.pid, int(vdso.split(" ")[0].split("-")[1], 16) - len(YES), YES)


def data_from_outside(_, app):
    """A writable variable: no source measures data."""
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as maps:
        heap = next(line for line in maps if "[heap]" in line)
    end = int(heap.split(" ")[0].split("-")[1], 16)
    write_memory(app.pid, end - 8, b"tampered")


def inside(*commands):
    def attack(_, app):
        for command in commands:
            app.ask("do " + command)

    return attack


def inside_with(command, source):
    def attack(stage, app):
        path = stage.spare / "library.so"
        if source is not None:
            shutil.copy(BUILD / source, path)
        app.ask(f"do {command} {path}")

    return attack


def library_replaced(stage, _):
    new = stage.spare / "new"
    shutil.copy(BUILD / "libforged.so", new)
    os.replace(new, stage.library)


def library_overwritten(stage, app):
    """Other bytes into the very file that is mapped: no private page, no other file, other code."""
    at = where(app)["may_open"]
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            if start <= at < end:
                offset = int(words[2], 16) + at - start
    with open(stage.library, "r+b", buffering=0) as file:
        file.seek(offset)
        file.write(YES)


def executable_covered(stage, _):
    other = stage.spare / "other"
    shutil.copy(BUILD / "sample", other)
    return mount_over(other, stage.executable)


def library_covered(stage, _):
    other = stage.spare / "other"
    shutil.copy(BUILD / "libforged.so", other)
    return mount_over(other, stage.library)


def bundle_covered(stage, _):
    other = stage.spare / "rules"
    other.write_text("doors stand open\n")
    return mount_over(other, stage.bundle / "rules")


def whole_bundle_covered(stage, _):
    other = stage.spare / "bundle"
    shutil.copytree(stage.bundle, other, symlinks=True)
    (other / "views" / "view-07").write_text("another view\n")
    return mount_over(other, stage.bundle)


def bundle_changed(stage, _):
    with open(stage.bundle / "rules", "r+b", buffering=0) as file:
        file.seek(70000)
        file.write(b"!")


def bundle_changed_in_secret(stage, _):
    path = stage.bundle / "rules"
    before = path.stat()
    bundle_changed(stage, None)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def bundle_stored_through_mapping(stage, app):
    """The page is dirty before the measurement: without a sync, a second store would move no time."""
    with open(stage.bundle / "rules", "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[70000:70001] = memory[70000:70001]
            app.ask("measure")
            memory[70001:70002] = b"!"


def bundle_added(stage, _):
    (stage.bundle / "views" / "view-99").write_text("one more\n")


def bundle_removed(stage, _):
    (stage.bundle / "views" / "view-07").unlink()


def bundle_renamed(stage, _):
    (stage.bundle / "views" / "view-07").rename(stage.bundle / "views" / "view-77")


def bundle_made_executable(stage, _):
    (stage.bundle / "views" / "view-07").chmod(0o755)


def bundle_link_turned(stage, _):
    (stage.bundle / "link").unlink()
    (stage.bundle / "link").symlink_to("views")
