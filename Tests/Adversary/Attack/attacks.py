# SPDX-License-Identifier: Apache-2.0

"""Every attack of the matrix: how it is done, with which tool, and which source must give it away.

A *live* attack (live.py) is done to a running app that was accepted a moment before; a *start* attack (beginning.py)
stands when the app starts; a *stored* one (stored.py) is on the configuration or the token, and no source sees it.
`seen_by` names the sources that must differ, each of them,
           so that no attack is seen for the wrong reason; `says` is the
line that the diagnosis must have. An attack that is expected to survive has the verdict 1.
"""

import dataclasses
import typing

import beginning
import file_systems
import live
import stored
from stage import BUILD


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
    arranged: typing.Optional[typing.Callable] = None  # (stage): before the app is enrolled; returns what undoes it
    trusting: typing.Optional[typing.Tuple[int, ...]] = None  # Verdicts under the trusting policy, where they differ
    impossible: typing.Optional[typing.Callable] = None  # (): why this machine cannot make it, or None
    may_end_app: bool = False  # The tool may send the app nowhere instead of attacking: no app is left to judge

    @property
    def is_on_kept_code(self):
        """Whether it changes code or constants of a running app, otherwise than through a page that root holds pinned:
        that is what the incremental policy does not see of root's files (docs/SECURITY.md)."""
        return (self.live is not None and bool({CODE, PAGES} & set(self.seen_by))
                and self.tool not in ("userfaultfd", "FUSE", "O_DIRECT, FUSE"))

    @property
    def survives(self):
        return self.verdicts == (1,)

    def verdicts_under(self, policy):
        return self.trusting if policy == "trusting" and self.trusting is not None else self.verdicts

    def seen_under(self, policy):
        return () if self.verdicts_under(policy) == (1,) else self.seen_by


CODE, PAGES, LINKS, MEMORY = "code in memory", "code pages", "links", "executable memory"

ATTACKS = [
    Attack("debugger attached", "gdb", ("debugger",), live=live.gdb_attached, says="debugger attached"),
    Attack("software breakpoint left in code", "gdb", (CODE, PAGES), live=live.gdb_breakpoint,
           not_seen_by=("debugger",)),
    Attack("hardware breakpoint, debugger attached", "gdb", ("debugger",), live=live.gdb_hardware_breakpoint),
    Attack("hardware breakpoint set before the program starts", "perf_event_open", ("debugger",),
           start=beginning.under(str(BUILD / "breakpoint"), "start"),
           says="another program holds breakpoints of the processor"),
    Attack("hardware breakpoint set while it runs", "perf_event_open", ("debugger",), live=live.watched("thread"),
           says="another program holds breakpoints of the processor"),
    Attack("hardware breakpoint on every processor", "perf_event_open", ("debugger",), live=live.watched_everywhere,
           says="another program holds breakpoints of the processor"),
    Attack("debugger attached while a file is read", "fanotify, ptrace", ("debugger",),
           live=live.lurked_in_measurement, says="debugger attached"),
    Attack("debugger attached between measurement and proof", "fanotify, ptrace", (), live=live.lurked_before_proof),
    Attack("started without address randomisation", "setarch", ("debugger",), start=beginning.under("setarch", "-R"),
           says="personality: addresses are not randomised"),
    Attack("library injected by a debugger that left", "gdb", ("loaded objects",), live=live.gdb_loads_library,
           not_seen_by=("debugger",)),
    Attack("system calls traced", "strace", ("debugger",), live=live.strace_attached),
    Attack("one thread traced, not the first", "strace", ("debugger",), live=live.one_thread_traced),
    Attack("debugger behind mounts over /proc", "strace, mount", ("debugger",), start=beginning.tracer_covered),
    Attack("debugger outside of the process namespace", "strace, unshare", ("debugger",),
           start=beginning.tracer_outside),
    Attack("function hooked", "frida", (CODE, PAGES, MEMORY), live=live.frida_hooked, not_seen_by=("debugger",),
           may_end_app=True),
    Attack("function hooked, then detached", "frida", (PAGES,), live=live.frida_came_and_went, may_end_app=True),
    Attack("library code patched from outside", "/proc/PID/mem", (CODE, PAGES), live=live.patched_from_outside),
    Attack("executable code patched from outside", "/proc/PID/mem", (CODE, PAGES), live=live.patched_executable_code),
    Attack("code patched and put back", "/proc/PID/mem", (PAGES,), live=live.patched_and_put_back),
    Attack("code patched from inside", "mprotect", (CODE, PAGES), live=live.inside("patch")),
    Attack("code patched from inside and put back", "mprotect", (PAGES,), live=live.inside("patch", "restore")),
    Attack("anonymous page over code", "mmap", (MEMORY, CODE), live=live.inside("overmap")),
    Attack("page of another file over code", "mmap", (MEMORY, CODE), live=live.inside_with("mapfile", None)),
    Attack("GOT entry redirected (lazy)", "mprotect", (LINKS,), live=live.inside("got")),
    Attack("GOT entry redirected (sealed)", "mprotect", (LINKS,), live=live.inside("got"), program="sample-now"),
    Attack("GOT entry redirected from outside", "/proc/PID/mem", (LINKS,), live=live.slot_from_outside),
    Attack("code in an anonymous mapping", "mmap", (MEMORY,), live=live.inside("anonymous")),
    Attack("code in a writable mapping", "mmap", (MEMORY,), live=live.inside("writable"),
           says="memory of no file is executable and writable"),
    Attack("code in the place of variables", "mmap", (MEMORY,), live=live.inside_with("room", None)),
    Attack("vdso patched from outside", "/proc/PID/mem", (PAGES,), live=live.vdso_from_outside),
    Attack("library loaded from memory", "memfd", (MEMORY, "loaded objects"),
           live=live.inside_with("memfd", "libforged.so"),
           says="/memfd:library (deleted) is executable and exists in memory only"),
    Attack("library loaded that nothing needs", "dlopen", ("loaded objects",),
           live=live.inside_with("dlopen", "libpreload.so")),
    Attack("library replaced while it runs", "rename", (MEMORY,), live=live.library_replaced),
    Attack("library file overwritten while it runs", "write", (CODE,), live=live.library_overwritten),
    Attack("library constants overwritten while it runs", "write", (CODE,), live=live.constants_overwritten),
    Attack("library constants patched from outside", "/proc/PID/mem", (CODE, PAGES), live=live.constants_from_outside),
    Attack("page of another file over constants", "mmap", (MEMORY, CODE),
           live=live.inside_with("mapconstants", None)),
    Attack("bind mount over the executable", "mount", (MEMORY,), live=live.executable_covered),
    Attack("bind mount over a library", "mount", (MEMORY,), live=live.library_covered),
    Attack("bind mount over a bundle file", "mount", ("bundle",), live=live.bundle_covered),
    Attack("bind mount over the whole bundle", "mount", ("bundle",), live=live.whole_bundle_covered),
    Attack("bundle file changed", "write", ("bundle",), live=live.bundle_changed),
    Attack("bundle file changed, times put back", "write, utimensat", ("bundle",), live=live.bundle_changed_in_secret),
    Attack("bundle file changed through a mapping", "mmap", ("bundle",), live=live.bundle_stored_through_mapping),
    Attack("bundle file added", "write", ("bundle",), live=live.bundle_added),
    Attack("bundle file removed", "unlink", ("bundle",), live=live.bundle_removed),
    Attack("bundle file renamed", "rename", ("bundle",), live=live.bundle_renamed),
    Attack("bundle file made executable", "chmod", ("bundle",), live=live.bundle_made_executable),
    Attack("bundle link turned elsewhere", "symlink", ("bundle",), live=live.bundle_link_turned),
    Attack("bundle file changed through a pinned page", "userfaultfd", ("bundle",), live=live.pinned("userfaultfd"),
           trusting=(1,)),
    Attack("bundle file changed through a page held by FUSE", "FUSE", ("bundle",), live=live.pinned("fuse"),
           trusting=(1,)),
    Attack("bundle file changed by a direct read", "O_DIRECT, FUSE", ("bundle",), live=live.pinned("direct"),
           trusting=(1,)),
    Attack("library code changed through a pinned page", "userfaultfd", (CODE,),
           live=live.pinned("userfaultfd", library=True)),
    Attack("library code changed through a page held by FUSE", "FUSE", (CODE,),
           live=live.pinned("fuse", library=True)),
    Attack("library code changed by a direct read", "O_DIRECT, FUSE", (CODE,),
           live=live.pinned("direct", library=True)),
    Attack("block of a bundle file moved away", "EXT4_IOC_MOVE_EXT", ("bundle",), live=live.bundle_block_moved,
           trusting=(1,)),
    Attack("extents of a bundle file swapped", "XFS_IOC_SWAPEXT", ("bundle",), live=live.bundle_extents_swapped,
           arranged=live.on_xfs, trusting=(1,)),
    Attack("ranges of a bundle file exchanged", "XFS_IOC_EXCHANGE_RANGE", ("bundle",),
           live=live.bundle_ranges_exchanged, arranged=live.on_exchanging_xfs,
           impossible=file_systems.no_exchange, trusting=(1,)),
    Attack("bundle file under fs-verity replaced by another", "FS_IOC_ENABLE_VERITY, rename", ("bundle",),
           live=live.bundle_verity_replaced, arranged=live.on_verity, impossible=file_systems.no_verity),
    Attack("library preloaded, variable hidden", "LD_PRELOAD", ("preloading", "loaded objects"),
           start=beginning.environment(LD_PRELOAD=BUILD / "libpreload.so")),
    Attack("library preloaded for every program", "/etc/ld.so.preload", ("preloading", "loaded objects"),
           start=beginning.preload_file),
    Attack("loader audited", "LD_AUDIT", ("preloading", MEMORY),
           start=beginning.environment(LD_AUDIT=BUILD / "libaudit.so")),
    Attack("library of another folder", "LD_LIBRARY_PATH", ("preloading",), start=beginning.other_library_folder),
    Attack("modules of an interpreter from another folder", "PYTHONPATH", ("variables",),
           start=beginning.environment(PYTHONPATH=BUILD)),
    Attack("script required before the app's own", "NODE_OPTIONS", ("variables",),
           start=beginning.environment(NODE_OPTIONS="--require=/tmp/evil.js")),
    Attack("agent loaded into a virtual machine", "JAVA_TOOL_OPTIONS", ("variables",),
           start=beginning.environment(JAVA_TOOL_OPTIONS="-javaagent:/tmp/evil.jar")),
    Attack("configuration of a library from another file", "OPENSSL_CONF", ("variables",),
           start=beginning.environment(OPENSSL_CONF="/tmp/evil.cnf")),
    Attack("character set module of another folder", "GCONV_PATH", ("variables", "loaded objects"),
           live=live.character_set_of_another_folder),
    Attack("library swapped on disk", "cp", (CODE,), start=beginning.library_swapped,
           says="libsample.so.1: changed, or one beside it is gone"),
    Attack("executable: one byte, never loaded", "write", ("executable file",), start=beginning.executable_byte),
    Attack("executable: one byte of its constants", "write", (CODE, "executable file"),
           start=beginning.executable_constant),
    Attack("started through a bind mount", "mount", (CODE, "executable file"), start=beginning.started_from_bind_mount),
    Attack("executed from memory", "memfd", (MEMORY,), start=beginning.run_from_memory),
    Attack("run under valgrind", "valgrind", ("instrumentation",), start=beginning.under("valgrind", "-q",
           "--tool=none"),
           says="the program runs under valgrind"),
    Attack("run under an emulator", "qemu-user", ("instrumentation",), start=beginning.under("qemu-x86_64")),
    Attack("other operating system release", "mount", ("os-release",), start=beginning.other_release,
           says="os-release: changed"),
    Attack("other kernel release", "setarch", ("kernel release",), start=beginning.under("setarch", "--uname-2.6"),
           says="kernel: changed"),
    Attack("storage copied to another device", "cp", ("machine-id",), start=beginning.other_machine, verdicts=(17,)),
    Attack("storage secret lost", "unlink", ("storage secret",), start=beginning.without_secret, verdicts=(17,)),
    Attack("storage opened to others", "chmod", ("storage secret",), start=beginning.storage_opened, verdicts=(17,)),
    Attack("storage copied to another processor", "mount", ("processor",), start=beginning.other_processor,
           verdicts=(17,)),
    Attack("storage copied to another board", "mount", ("board serial",), start=beginning.other_board, verdicts=(17,)),
    Attack("storage copied to another root file system", "chroot", ("root file system",), start=beginning.other_root,
           verdicts=(17,)),
    Attack("configuration edited: each byte in turn", "write", (), stored=stored.edited, verdicts=(stored.DAMAGED,)),
    Attack("configuration made anew to ask for less", "write", (), stored=stored.asking_for_less),
    Attack("older configuration, newer token", "cp", (), stored=stored.older_configuration, verdicts=(17,)),
    Attack("newer configuration, older token", "cp", (), stored=stored.newer_configuration, verdicts=(17,)),
    Attack("older token presented again", "cp", (), stored=stored.older_token, verdicts=(35,)),
    Attack("bundle file given to another owner", "chown", (), live=live.bundle_given_away, verdicts=(1,)),
    Attack("capability given to a bundle file", "setcap", (), live=live.bundle_capability, verdicts=(1,)),
    Attack("ACL entry added within the mask", "setfacl", (), live=live.bundle_acl, verdicts=(1,)),
    Attack("writable data changed", "/proc/PID/mem", (), live=live.data_from_outside, verdicts=(1,)),
    Attack("registers and stack sampled", "perf_event_open", (), live=live.watched("sample"), verdicts=(1,)),
    Attack("debugger came and went", "gdb", (), live=live.gdb_came_and_went, verdicts=(1,)),
]
