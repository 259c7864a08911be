# SPDX-License-Identifier: Apache-2.0

"""Attacks on a running app that was accepted a moment before: `(stage, app)`; may return a function that undoes it."""

import mmap
import os
import pathlib
import shutil
import subprocess
import sys

import file_systems
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


def watched(mode):
    """Sets breakpoints by other means than ptrace: `breakpoint.c`."""
    def attack(_, app):
        return Tool([BUILD / "breakpoint", mode, app.pid]).wait_for("set").kill

    return attack


def watched_everywhere(_, app):
    """The kernel refuses a breakpoint for every program while a probe anywhere measures and holds all of one thread's.
    Here another program holds them when the tool begins, so that the row is the same on a busy machine."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        holders = [Tool([BUILD / "breakpoint", "thread", other.pid]).wait_for("set") for _ in range(4)]
        tool = Tool([BUILD / "breakpoint", "everywhere"]).wait_for("waiting")
        for holder in holders:
            holder.kill()
    return tool.wait_for("set").kill


def lurked_in_measurement(_, app):
    """A debugger that is attached from the moment the measurement reads os-release to the next one's beginning."""
    return Tool([BUILD / "lurker", app.pid, "/etc/os-release", "/etc/machine-id"]).wait_for("armed").kill


def lurked_before_proof(stage, app):
    """A debugger that is attached after the measurement, and sees the keys of the proof only."""
    file = stage.spare / "between"
    file.write_text("opened between measurement and proof\n")
    app.ask(f"between {file}")
    return Tool([BUILD / "lurker", app.pid, file, "/etc/machine-id"]).wait_for("armed").kill


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


def character_set_of_another_folder(stage, app):
    """A folder with a list of modules and one module, which the C library opens for the app. As a good module that
    ends nothing: a copy of the system's own."""
    (stage.spare / "gconv-modules").write_text("module KOI8-R// INTERNAL evil 1\nmodule INTERNAL KOI8-R// evil 1\n")
    shutil.copy(next(pathlib.Path("/usr/lib").glob("*/gconv/KOI8-R.so")), stage.spare / "evil.so")
    app.ask(f"do convert {stage.spare}")


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


def file_offset(app, address):
    """Where in its file a mapped byte stands."""
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            if start <= address < end:
                return int(words[2], 16) + address - start
    raise RuntimeError("not mapped")


def constants_overwritten(stage, app):
    """Constants of the very file that is mapped: no private page, the same code."""
    with open(stage.library, "r+b", buffering=0) as file:
        file.seek(file_offset(app, where(app)["constant"]))
        file.write(b"open")


def constants_from_outside(_, app):
    write_memory(app.pid, where(app)["constant"], b"open")


def settle(app):
    """Lets a recent change count as long settled: the app keeps digests of it."""
    app.ask("clock 60")
    app.ask("measure")


def pinned(way, library=False):
    """A page of a file is pinned, the app measures, and only then the bytes come: no time moves."""

    def attack(stage, app):
        path = stage.library if library else stage.bundle / "rules"
        offset = file_offset(app, where(app)["may_open"]) if library else 70000
        folder = stage.spare / "slow"
        folder.mkdir()
        tool = Tool([BUILD / "pin", way, path, offset, YES.hex(), folder]).wait_for("held")
        settle(app)
        before = path.stat()
        tool.process.stdin.write("\n")
        tool.process.stdin.flush()
        tool.wait_for("written")
        with open(path, "rb") as file:
            file.seek(offset)
            arrived = file.read(len(YES)) == YES
        if not arrived or path.stat().st_ctime_ns != before.st_ctime_ns:
            raise RuntimeError("the bytes did not come in secret")
        return tool.end

    return attack


def in_secret(path, command):
    """Runs what changes a file's content and no time of it."""
    before, content = path.stat(), path.read_bytes()
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    after = path.stat()
    moved = (before.st_ctime_ns, before.st_mtime_ns) != (after.st_ctime_ns, after.st_mtime_ns)
    if moved or path.read_bytes() == content:
        raise RuntimeError("the content did not change in secret")


def bundle_block_moved(stage, app):
    settle(app)
    in_secret(stage.bundle / "rules", [BUILD / "move", stage.bundle / "rules", stage.spare / "other"])


def on_file_system(make):
    """The bundle on a file system of its own, as before the app starts."""

    def arrange(stage):
        content = stage.spare / "content"
        shutil.move(stage.bundle, content)
        stage.bundle.mkdir()
        undo = file_systems.mounted(make, stage.spare / "image", stage.bundle)
        shutil.copytree(content, stage.bundle, symlinks=True, dirs_exist_ok=True)
        os.sync()
        return undo

    return arrange


on_xfs = on_file_system(file_systems.make_xfs)
on_exchanging_xfs = on_file_system(file_systems.make_exchanging_xfs)


def on_verity(stage):
    undo = on_file_system(file_systems.make_verity)(stage)
    try:
        file_systems.enable_verity(stage.bundle / "rules")
    except BaseException:
        undo()
        raise
    return undo


def bundle_extents_swapped(stage, app):
    rules, other = stage.bundle / "rules", stage.bundle / ".other"
    settle(app)
    other.write_bytes(b"doors stand open\n" * 8000)
    with open(other, "r+b") as file:
        file.truncate(rules.stat().st_size)
        os.fsync(file.fileno())
    in_secret(rules, ["xfs_io", "-c", f"swapext {other}", rules])
    other.unlink()


def bundle_ranges_exchanged(stage, app):
    """A file of the same size takes the place of its content, by descriptors that leave times as they are."""
    rules, other = stage.bundle / "rules", stage.bundle / ".other"
    settle(app)
    other.write_bytes(b"doors stand open\n".ljust(rules.stat().st_size))
    in_secret(rules, [BUILD / "exchange", stage.bundle, rules.name, other.name])
    other.unlink()


def bundle_verity_replaced(stage, app):
    """The other file has fs-verity, too: that a file is guarded says nothing of its bytes."""
    rules, other = stage.bundle / "rules", stage.bundle / ".other"
    settle(app)
    before = rules.stat()
    other.write_bytes(b"doors stand open\n".ljust(before.st_size))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    file_systems.enable_verity(other)
    os.replace(other, rules)


def bundle_given_away(stage, _):
    os.chown(stage.bundle / "rules", 65534, 65534)


def bundle_capability(stage, _):
    """CAP_SETUID, effective: a program of these bytes would gain it."""
    os.setxattr(stage.bundle / "rules", "security.capability", bytes.fromhex("0100000280000000") + bytes(12))


def bundle_acl(stage, _):
    """An entry for another user within the mask: the mode stays as it was."""
    entries = [(1, 6, 0xFFFFFFFF), (2, 4, 65534), (4, 4, 0xFFFFFFFF), (16, 4, 0xFFFFFFFF), (32, 4, 0xFFFFFFFF)]
    acl = b"".join(tag.to_bytes(2, "little") + rights.to_bytes(2, "little") + who.to_bytes(4, "little")
                   for tag, rights, who in entries)
    os.setxattr(stage.bundle / "rules", "system.posix_acl_access", (2).to_bytes(4, "little") + acl)


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
