#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Takes out the probe's defences one by one, and sees to it that the attack each is there for is no longer seen.

  mutants.py [WORD…]     all, or those whose description has one of the words

A mutant is (what is taken out, the attack that must then pass unseen or half seen, edits), as
Tests/Support/Runner/mutation.py has it. A mutant is caught when the matrix fails for that attack.
"""

import dataclasses
import shutil
import sys

import run
from attacks import ATTACKS
from stage import BUILD, OBJECTS, ROOT, compiler, link_app, object_name
from stage import run as command

sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from mutation import Broken, Mutant, play  # noqa: E402
from planting import changed  # noqa: E402

PROBE = ROOT / "CSources" / "ProofProbe"

ENVIRONMENT, VIEW, REPORT = "process/environment.c", "process/view.c", "process/view_report.c"
DEVICE, WATCH = "process/device.c", "process/watch.c"

MUTANTS = [
    ("TracerPid of the first thread is not read", "system calls traced",
     [(WATCH, "traced = first > 0;", "traced = 0;"),
      (WATCH, "return tracer > 0;", "return 0;")]),
    ("breakpoints in use are free", "hardware breakpoint set before the program starts",
     [(WATCH, "hold->code == PFP_BREAKPOINTS_X86 ?", "hold->code <= PFP_BREAKPOINTS_X86 ?")]),
    ("personality is not asked", "started without address randomisation",
     [(WATCH, "if (sight->personality == 0) return", "if (sight->personality != 1) return"),
      (WATCH, "(sight->personality & ADDR_NO_RANDOMIZE) != 0", "0")]),
    ("who watches is looked at before the environment is read", "debugger attached while a file is read",
     [("probe/gather.c", "  if (result == PFP_OK) pfp_environment_report(evidence, &probe->process);\n"
       "  if (result == PFP_OK) pfp_variables_report(evidence, &probe->process);\n"
       "  if (result == PFP_OK) watch(probe, evidence);\n",
       "  if (result == PFP_OK) watch(probe, evidence);\n"
       "  if (result == PFP_OK) pfp_environment_report(evidence, &probe->process);\n"
       "  if (result == PFP_OK) pfp_variables_report(evidence, &probe->process);\n"),
      (WATCH, "mask(proof, key, seen);", "mask(proof, key, own.seen[after]);")]),
    ("no second look releases the proof", "debugger attached between measurement and proof",
     [(WATCH, "mask(proof, key, seen);", "mask(proof, key, own.seen[after]);")]),
    ("TracerPid of the other threads is not read", "one thread traced, not the first",
     [(WATCH, "return tracer > 0;", "return 0;")]),
    ("what is mounted over /proc is taken for the kernel's word", "debugger behind mounts over /proc",
     [("system/proc.c", "file < 0 || is_of(folder, file)", "file < 0 || is_of(folder, file) || file >= 0")]),
    ("the check that every tracer can be seen is left out", "debugger outside of the process namespace",
     [(WATCH, "return sight->every_tracer ? ", "return sight->every_tracer >= 0 ? ")]),
    ("the environment the process was started with is not read", "library preloaded, variable hidden",
     [(ENVIRONMENT, "const char *first = find_initial(initial, size, name);",
       "const char *first = size == 0 ? find_initial(initial, size, name) : NULL;")]),
    ("LD_AUDIT is not asked for", "loader audited",
     [(ENVIRONMENT, '{"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"}', '{"LD_LIBRARY_PATH", "LD_PRELOAD"}')]),
    ("LD_LIBRARY_PATH is not asked for", "library of another folder",
     [(ENVIRONMENT, '{"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"}', '{"LD_AUDIT", "LD_PRELOAD"}')]),
    ("/etc/ld.so.preload is not looked for", "library preloaded for every program",
     [(ENVIRONMENT, "if (access(FILE_PATH, F_OK) != 0) {", "if (FILE_PATH != NULL) {")]),
    ("valgrind is not asked", "run under valgrind",
     [(ENVIRONMENT, "return answer != 0;", "return answer == 99;")]),
    ("the two views of the process are not compared, nor is the translator asked for", "run under an emulator",
     [(ENVIRONMENT, "agree = views_agree();", "agree = views_agree() >= -1;"),
      (ENVIRONMENT, 'return memcmp(maker, "TCGTCGTCGTCG", sizeof maker) == 0;', "return 0;")]),
    ("os-release is not read", "other operating system release",
     [(ENVIRONMENT, "if (size >= 0) pfp_fact(digest, text, (size_t)size);", "pfp_fact(digest, text, 0);")]),
    ("the kernel's release is not asked", "other kernel release",
     [(ENVIRONMENT, '"kernel", names.release)', '"kernel", names.sysname)')]),
    ("objects that nothing needs are not reported", "library loaded that nothing needs",
     [(REPORT, "if (!object->explained && !pfp_object_is_quiet(object)) found(&unexplained, object->name);",
       "(void)0;")]),
    ("anonymous executable memory is not reported", "code in an anonymous mapping",
     [(REPORT, "found(&findings[ANONYMOUS], name);", "(void)0;")]),
    ("writable executable memory is not reported", "code in a writable mapping",
     [(REPORT, "if ((mapping->flags & PFP_WRITE) != 0) found(&findings[WRITABLE], name);", "(void)0;")]),
    ("all between an object's first and last byte is taken for its code", "code in the place of variables",
     [(REPORT, "!is_code(mapping, objects)",
       "!is_code(mapping, objects) && pfp_objects_at(objects, mapping->start) == NULL")]),
    ("private pages of the vdso are not counted", "vdso patched from outside",
     [(VIEW, "      count = add_ranges(", "      if (!object->is_vdso) count = add_ranges(")]),
    ("executable memory of a file in memory is not told apart", "library loaded from memory",
     [(REPORT, 'strncmp(name, "/memfd:", 7) == 0', "0")]),
    ("a file that took the place of the mapped one is not reported", "bind mount over a library",
     [(REPORT, "if (object->replaced) found(&findings[REPLACED], object->name);", "(void)0;")]),
    ("mappings that are not as the headers say are not reported", "page of another file over code",
     [(REPORT, "if (object->misplaced != 0) found(&findings[MISPLACED], object->name);", "(void)0;")]),
    ("mappings are not compared with the object's own file", "page of another file over code",
     [(VIEW, "mapping->device != object->device || mapping->inode != object->inode || mapping->inode == 0 ||",
       "mapping->inode == 0 ||"),
      (VIEW, "mapping->offset + (at - mapping->start) != offset + (at - span.start) ||", "")]),
    ("private pages are not reported", "code patched and put back",
     [(REPORT, "if (object->private_pages > 0) found(&patched, object->name);", "(void)0;")]),
    ("private pages are not counted", "code patched and put back",
     [(VIEW, "? -1 : *sum + ranges[i].pages;", "? -1 : *sum;")]),
    ("trusting: an object is vouched for although its file changed", "library constants overwritten while it runs",
     [(VIEW, "entry != NULL && object->unchanged &&", "entry != NULL &&")]),
    ("trusting: an object is vouched for although it has private pages", "library constants patched from outside",
     [(VIEW, " && object->private_pages == 0;\n", ";\n")]),
    ("trusting: an object is vouched for although its mappings changed", "page of another file over constants",
     [(VIEW, "object->unchanged && object->misplaced == 0 &&", "object->unchanged &&")]),
    ("trusting: what words lead to is kept although they changed", "GOT entry redirected (lazy)",
     [(VIEW, "memcmp(entry->links_raw, object->links_raw, sizeof object->links_raw) == 0",
       "entry->has_links")]),
    ("trusting: code is vouched for as constants are", "library code changed through a pinned page",
     [(VIEW, "if (kept != NULL && (segment->flags & PFP_EXECUTE) == 0) {", "if (kept != NULL) {")]),
    ("incremental: files that anybody may write to are kept", "bundle file changed through a page held by FUSE",
     [("system/keep.c", "if (!pfp_keep_guarded(identity, memory, fd)) return 0;", "(void)0;"),
      ("system/keep.c", "if (*keep == PFP_KEEP && !trusts_owner && !pfp_keep_guarded(identity, memory, fd))",
       "if (memory == NULL)")]),
    ("incremental: root's files are kept for root", "block of a bundle file moved away",
     [("system/keep.c", "identity->guard == PFP_GUARD_ROOT && unprivileged(memory);",
       "identity->guard == PFP_GUARD_ROOT && (unprivileged(memory) || true);")]),
    ("slots of the PLT are not followed", "GOT entry redirected (lazy)",
     [("process/links.c", "    table(&walk, pfp_dynamic_address(object, DT_JMPREL), "
       "pfp_dynamic_value(object, DT_PLTRELSZ, 0));\n", "    (void)0;\n")]),
    ("a slot is told as what the loader would find, wherever it leads", "GOT entry redirected (lazy)",
     [("process/links.c", "  int lawful = is_original(&walk->unbound, walk->object, at);", "  int lawful = 1;")]),
    ("any library that is loaded is taken for a system module", "library loaded that nothing needs",
     [("process/modules.c",
       "if (!has_pattern(object->path) && !is_opened_by_a_library(objects, object->path)) continue;",
       "(void)has_pattern;"),
      ("process/modules.c", "trusted && only_root_writes(object->path)",
       "trusted && only_root_writes(object->path) < 2")]),
    ("variables of interpreters are not asked for", "modules of an interpreter from another folder",
     [("process/variables.c", "if (values[i] == NULL && now == NULL) continue;", "if (now != block) continue;")]),
    ("constants are not hashed, only what is executable", "executable: one byte of its constants",
     [(VIEW, "return (segment->flags & PFP_WRITE) == 0 && segment->file_size != 0;",
       "return (segment->flags & PFP_EXECUTE) != 0 && segment->file_size != 0;")]),
    ("code is taken from the file's name, not from memory", "executable code patched from outside",
     [(VIEW, "    contents[count].size = segment->file_size;\n", "    contents[count].size = 0;\n")]),
    ("the executable's file is not read", "executable: one byte, never loaded",
     [("probe/gather.c", "result == PFP_OK ? entry.content : NULL);", "NULL);")]),
    ("the bundle's entries are counted, not hashed", "bundle file changed",
     [("probe/gather.c", "pfp_transcript_raw(&shards->transcripts[shard], entry->digest, sizeof entry->digest);", "")]),
    ("the machine's identity is not read", "storage copied to another device",
     [(DEVICE, 'pfp_read_file(text, sizeof text, "/etc/machine-id")',
       'pfp_read_file(text, sizeof text, "/etc/hostname")')]),
    ("the processor's lines are not read", "storage copied to another processor",
     [(DEVICE, "    size = answer(evidence, processor(text));\n",
       "    size = processor(text) > 0;\n    text[0] = 1;\n")]),
    ("serials are not read", "storage copied to another board",
     [(DEVICE, "answer(evidence, pfp_read_file(text, sizeof text, SERIALS[i].path))", "-1")]),
    ("the root file system is not asked", "storage copied to another root file system",
     [(DEVICE, "record = add(evidence, PFP_DEVICE_ROOT, \"root\", text, size);",
       "record = add(evidence, PFP_DEVICE_ROOT, \"root\", \"the same\", 8);")]),
    ("a secret that others may read is taken", "storage opened to others",
     [("system/storage.c", "status.st_uid != geteuid() || (status.st_mode & 077) != 0) {", "0) {")]),
    ("the secret itself is not measured", "storage secret lost",
     [(DEVICE, '"secret", secret, result == PFP_OK ? PFP_SECRET_BYTES : -1);', '"secret", "there", 5);')]),
]

# The same for what hardening prevents: the tool must then get in.
HARDENED = "hardened: "  # Before the name of such a test
HARDENING = [
    ("the hardened process stays dumpable", "debugger attached",
     [("process/harden.c", "PR_SET_DUMPABLE, 0,", "PR_SET_DUMPABLE, 1,")]),
    ("the hardened process stays dumpable", "memory written",
     [("process/harden.c", "PR_SET_DUMPABLE, 0,", "PR_SET_DUMPABLE, 1,")]),
    ("the hardened process may gain privileges", "rights gained by a program it starts",
     [("process/harden.c", "prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0", "0")]),
]


def build(edits):
    """The app with the changed files in its probe, as .build/attack/mutant."""
    folder = BUILD / "mutant-sources"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    objects = {path.name: path for path in OBJECTS.glob("*.o")}
    for name, text in changed(PROBE, edits).items():
        source = folder / name
        source.parent.mkdir(exist_ok=True)
        source.write_text(text, encoding="utf-8")
        changed_object = objects[object_name(source)] = source.with_suffix(".o")
        command(*compiler("-w"), "-c", source, "-o", changed_object)
    link_app("mutant", objects.values())


def faults(attack):
    """Objections of the matrix to this attack."""
    checks = run.Checks(tells=False)
    for _ in run.matrix(checks, [attack]):
        pass
    return checks.faults


def prevented(name, program):
    """Whether hardening keeps this tool out."""
    tool = next(how for what, _, how, _ in run.PREVENTED if what == name)
    with run.limited():
        return not run.attempt(tool, "full", harden=True, program=program)[0]


class Probe:
    """The probe in the app. A test is an attack of the matrix, or a tool that hardening prevents."""
    attacks = {attack.name: attack for attack in ATTACKS}

    def untouched(self, names):
        for name in names:
            if name.startswith(HARDENED):
                if not prevented(name.removeprefix(HARDENED), "sample"):
                    return f"{name}: not prevented"
            elif problems := faults(self.attacks[name]):
                return f"{name}: not seen: " + "; ".join(problems)
        return None

    def notices(self, mutant):
        build(mutant.edits)
        if mutant.by.startswith(HARDENED):
            return not prevented(mutant.by.removeprefix(HARDENED), "mutant")
        problems = faults(dataclasses.replace(self.attacks[mutant.by], program="mutant"))
        if any("is not accepted" in problem for problem in problems):
            raise Broken(f"the app is not accepted: {problems}")
        return bool(problems)


if __name__ == "__main__":
    run.begin()
    chosen = [Mutant(what, name, edits) for what, name, edits in MUTANTS]
    chosen += [Mutant(what, HARDENED + name, edits) for what, name, edits in HARDENING]
    sys.exit(play(Probe(), chosen, sys.argv[1:]))
