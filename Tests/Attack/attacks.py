"""Every attack of the matrix: how it is done, with which tool, and which source must give it away.

A *live* attack is done to a running app that was accepted a moment before; a *start* attack stands when the app starts;
a *stored* one (stored.py) is on the configuration or the token, and no source sees it. `seen_by` names the
sources that must differ, each of them, so that no attack is seen for the wrong reason; `says` is the line that the
diagnosis must have. An attack that is expected to survive has the verdict 1.
"""

import dataclasses
import mmap
import os
import pathlib
import shutil
import subprocess
import sys
import typing

import stored
from stage import BUILD, HERE, PYTHON, where

YES = bytes([0xB8, 1, 0, 0, 0, 0xC3])  # mov eax, 1 ; ret


@dataclasses.dataclass
class Attack:
    name: str
    tool: str
    seen_by: typing.Tuple[str, ...]
    live: typing.Optional[typing.Callable] = None  # (stage, app): does it; may return a function that undoes it
    start: typing.Optional[typing.Callable] = None  # (stage): arranges it; returns options for Stage.start
    stored: typing.Optional[typing.Callable] = None  # (stored.Case): does it; returns every verdict it met
    program: str = "sample"
    verdicts: typing.Tuple[int, ...] = (16,)
    not_seen_by: typing.Tuple[str, ...] = ()
    says: typing.Optional[str] = None
    may_end_app: bool = False  # The tool may send the app nowhere instead of attacking: nobody is left to judge

    @property
    def survives(self):
        return self.verdicts == (1,)


# Tools ----------------------------------------------------------------------------------------------------------


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


# Live -----------------------------------------------------------------------------------------------------------


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


# Start ----------------------------------------------------------------------------------------------------------


def environment(**variables):
    def attack(_):
        return {"env": {**os.environ, **{name: str(value) for name, value in variables.items()}}}

    return attack


def other_library_folder(stage):
    shutil.copy(BUILD / "libsample.so.1", stage.spare / "libsample.so.1")
    return {"env": {**os.environ, "LD_LIBRARY_PATH": str(stage.spare)}}


def library_swapped(stage):
    shutil.copy(BUILD / "libforged.so", stage.library)
    return {}


def flip(path, marker):
    data = bytearray(path.read_bytes())
    data[data.index(marker)] ^= 1
    path.write_bytes(data)


def executable_byte(stage):
    """A byte that is never loaded: the compiler's own comment."""
    flip(stage.executable, b"GCC: (")
    return {}


def executable_constant(stage):
    flip(stage.executable, b"sample marker")
    return {}


def started_from_bind_mount(stage):
    other = stage.spare / "other"
    shutil.copy(stage.executable, other)
    flip(other, b"sample marker")
    other.chmod(0o755)
    return {"undo": mount_over(other, stage.executable)}


def run_from_memory(stage):
    memory = os.memfd_create("sample", 0)
    os.write(memory, stage.executable.read_bytes())
    return {"wrapper": [], "executable": f"/proc/self/fd/{memory}", "pass_fds": (memory,), "cwd": stage.app_folder,
            "undo": lambda: os.close(memory)}


def under(*wrapper):
    def attack(_):
        return {"wrapper": wrapper}

    return attack


def preload_file(stage):
    """/etc/ld.so.preload, in this run's own mounts."""
    listing = stage.spare / "ld.so.preload"
    listing.write_text(f"{BUILD / 'libpreload.so'}\n")
    target = pathlib.Path("/etc/ld.so.preload")
    if target.exists():
        return {"undo": mount_over(listing, target)}
    # There is no file to mount over, and the real /etc stays untouched: a copy takes its place here.
    shadow = stage.spare / "etc"
    shutil.copytree("/etc", shadow, symlinks=True)
    shutil.copy(listing, shadow / "ld.so.preload")
    return {"undo": mount_over(shadow, "/etc")}


def other_machine(stage):
    """The whole installation, secret included, on a device with another identity."""
    identity = stage.spare / "machine-id"
    identity.write_text("0123456789abcdef0123456789abcdef\n")
    return {"undo": mount_over(identity, "/etc/machine-id")}


def without_secret(stage):
    (stage.storage / "device-secret").unlink()
    return {}


def storage_opened(stage):
    stage.storage.chmod(0o755)
    return {}


def other_processor(stage):
    facts = stage.spare / "cpuinfo"
    real = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    facts.write_text("vendor_id\t: OtherMaker\n" + real)
    return {"undo": mount_over(facts, "/proc/cpuinfo")}


def other_board(stage):
    """Serials where there were none, or others than there were."""
    board = stage.spare / "class" / "dmi" / "id"
    board.mkdir(parents=True)
    for name in ("board_serial", "product_serial", "product_uuid"):
        (board / name).write_text("0123456789\n")
    return {"undo": mount_over(stage.spare / "class", "/sys/class")}


def other_root(stage):
    """The same folders under the root of another file system."""
    root = stage.spare / "root"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "root", root], check=True)
    for path in pathlib.Path("/").iterdir():
        if path.is_symlink():
            (root / path.name).symlink_to(os.readlink(path))
        elif path.is_dir():
            (root / path.name).mkdir()
            subprocess.run(["mount", "--rbind", path, root / path.name], check=True)
    return {"wrapper": ["chroot", root], "undo": lambda: subprocess.run(["umount", "-R", "-l", root], check=True)}


def other_release(stage):
    release = stage.spare / "os-release"
    release.write_text(pathlib.Path("/etc/os-release").read_text(encoding="utf-8") + 'VARIANT="other"\n')
    return {"undo": mount_over(release, pathlib.Path("/etc/os-release").resolve())}


CODE, PAGES, LINKS, MEMORY = "code in memory", "code pages", "links", "executable memory"

ATTACKS = [
    Attack("debugger attached", "gdb", ("debugger",), live=gdb_attached, says="debugger attached"),
    Attack("software breakpoint left in code", "gdb", (CODE, PAGES), live=gdb_breakpoint, not_seen_by=("debugger",)),
    Attack("hardware breakpoint, debugger attached", "gdb", ("debugger",), live=gdb_hardware_breakpoint),
    Attack("library injected by a debugger that left", "gdb", ("loaded objects",), live=gdb_loads_library,
           not_seen_by=("debugger",)),
    Attack("system calls traced", "strace", ("debugger",), live=strace_attached),
    Attack("one thread traced, not the first", "strace", ("debugger",), live=one_thread_traced),
    Attack("function hooked", "frida", (CODE, PAGES, MEMORY), live=frida_hooked, not_seen_by=("debugger",),
           may_end_app=True),
    Attack("function hooked, then detached", "frida", (PAGES,), live=frida_came_and_went, may_end_app=True),
    Attack("library code patched from outside", "/proc/PID/mem", (CODE, PAGES), live=patched_from_outside),
    Attack("executable code patched from outside", "/proc/PID/mem", (CODE, PAGES), live=patched_executable_code),
    Attack("code patched and put back", "/proc/PID/mem", (PAGES,), live=patched_and_put_back),
    Attack("code patched from inside", "mprotect", (CODE, PAGES), live=inside("patch")),
    Attack("code patched from inside and put back", "mprotect", (PAGES,), live=inside("patch", "restore")),
    Attack("anonymous page over code", "mmap", (MEMORY, CODE), live=inside("overmap")),
    Attack("page of another file over code", "mmap", (MEMORY, CODE), live=inside_with("mapfile", None)),
    Attack("GOT entry redirected (lazy)", "mprotect", (LINKS,), live=inside("got")),
    Attack("GOT entry redirected (sealed)", "mprotect", (LINKS,), live=inside("got"), program="sample-now"),
    Attack("GOT entry redirected from outside", "/proc/PID/mem", (LINKS,), live=slot_from_outside),
    Attack("code in an anonymous mapping", "mmap", (MEMORY,), live=inside("anonymous")),
    Attack("code in a writable mapping", "mmap", (MEMORY,), live=inside("writable"),
           says="memory of no file is executable and writable"),
    Attack("library loaded from memory", "memfd", (MEMORY, "loaded objects"),
           live=inside_with("memfd", "libforged.so"),
           says="/memfd:library (deleted) is executable and exists in memory only"),
    Attack("library loaded that nothing needs", "dlopen", ("loaded objects",),
           live=inside_with("dlopen", "libpreload.so")),
    Attack("library replaced while it runs", "rename", (MEMORY,), live=library_replaced),
    Attack("library file overwritten while it runs", "write", (CODE,), live=library_overwritten),
    Attack("bind mount over the executable", "mount", (MEMORY,), live=executable_covered),
    Attack("bind mount over a library", "mount", (MEMORY,), live=library_covered),
    Attack("bind mount over a bundle file", "mount", ("bundle",), live=bundle_covered),
    Attack("bind mount over the whole bundle", "mount", ("bundle",), live=whole_bundle_covered),
    Attack("bundle file changed", "write", ("bundle",), live=bundle_changed),
    Attack("bundle file changed, times put back", "write, utimensat", ("bundle",), live=bundle_changed_in_secret),
    Attack("bundle file changed through a mapping", "mmap", ("bundle",), live=bundle_stored_through_mapping),
    Attack("bundle file added", "write", ("bundle",), live=bundle_added),
    Attack("bundle file removed", "unlink", ("bundle",), live=bundle_removed),
    Attack("bundle file renamed", "rename", ("bundle",), live=bundle_renamed),
    Attack("bundle file made executable", "chmod", ("bundle",), live=bundle_made_executable),
    Attack("bundle link turned elsewhere", "symlink", ("bundle",), live=bundle_link_turned),
    Attack("library preloaded, variable hidden", "LD_PRELOAD", ("preloading", "loaded objects"),
           start=environment(LD_PRELOAD=BUILD / "libpreload.so")),
    Attack("library preloaded for every program", "/etc/ld.so.preload", ("preloading", "loaded objects"),
           start=preload_file),
    Attack("loader audited", "LD_AUDIT", ("preloading", MEMORY), start=environment(LD_AUDIT=BUILD / "libaudit.so")),
    Attack("library of another folder", "LD_LIBRARY_PATH", ("preloading",), start=other_library_folder),
    Attack("library swapped on disk", "cp", (CODE,), start=library_swapped, says="libsample.so.1: code differs"),
    Attack("executable: one byte, never loaded", "write", ("executable file",), start=executable_byte),
    Attack("executable: one byte of its constants", "write", (CODE, "executable file"), start=executable_constant),
    Attack("started through a bind mount", "mount", (CODE, "executable file"), start=started_from_bind_mount),
    Attack("executed from memory", "memfd", (MEMORY,), start=run_from_memory),
    Attack("run under valgrind", "valgrind", ("instrumentation",), start=under("valgrind", "-q", "--tool=none"),
           says="the program runs under valgrind"),
    Attack("run under an emulator", "qemu-user", ("instrumentation",), start=under("qemu-x86_64")),
    Attack("other operating system release", "mount", ("os-release",), start=other_release,
           says="os-release: changed"),
    Attack("other kernel release", "setarch", ("kernel release",), start=under("setarch", "--uname-2.6"),
           says="kernel: changed"),
    Attack("storage copied to another device", "cp", ("machine-id",), start=other_machine, verdicts=(17,)),
    Attack("storage secret lost", "unlink", ("storage secret",), start=without_secret, verdicts=(17,)),
    Attack("storage opened to others", "chmod", ("storage secret",), start=storage_opened, verdicts=(17,)),
    Attack("storage copied to another processor", "mount", ("processor",), start=other_processor, verdicts=(17,)),
    Attack("storage copied to another board", "mount", ("board serial",), start=other_board, verdicts=(17,)),
    Attack("storage copied to another root file system", "chroot", ("root file system",), start=other_root,
           verdicts=(17,)),
    Attack("configuration edited: each byte in turn", "write", (), stored=stored.edited, verdicts=(stored.DAMAGED,)),
    Attack("configuration made anew to ask for less", "write", (), stored=stored.asking_for_less),
    Attack("older configuration, newer token", "cp", (), stored=stored.older_configuration, verdicts=(17,)),
    Attack("newer configuration, older token", "cp", (), stored=stored.newer_configuration, verdicts=(17,)),
    Attack("older token presented again", "cp", (), stored=stored.older_token, verdicts=(35,)),
    Attack("writable data changed", "/proc/PID/mem", (), live=data_from_outside, verdicts=(1,)),
    Attack("debugger came and went", "gdb", (), live=gdb_came_and_went, verdicts=(1,)),
]
