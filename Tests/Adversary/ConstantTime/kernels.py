#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The kernels of SHA-256 take a time that depends on public values alone, keep nothing and leave nothing behind.

    kernels.py                     builds CSources/ProofCore's kernel of this machine with each compiler at each level
                                   of optimisation, judges it, and sees that each planted fault is found
    kernels.py --object FILE…      judges these objects; OBJDUMP names the program that reads them

valgrind does not know the instructions, so the machine code is read instead. Rules, for each function of an object:

  instruction  Every instruction is on a list: none is on it whose time depends on a value, by what Intel and Arm
               publish (data operand independent timing, DIT). AMD publishes no such list.
  general      A general register is written from general registers, constants and the function's own frame alone. So
               what is read from a state or a block never reaches one, and every jump and every address, which are made
               of general registers, depends on arguments and counts alone.
  vector       A vector register is neither stored to the frame nor loaded from it: no word of a block is left on the
               stack. Memory is addressed by one register and a constant.
  calls        Nothing is called, no jump is indirect.
  cleared      After the last store of a vector register every vector register that a callee may change is set to zero,
               and nothing is loaded into one again.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from planting import changed  # noqa: E402

CORE = ROOT / "CSources" / "ProofCore"
OUT = ROOT / ".build" / "constant-time" / "kernels"
LEVELS = ("-O0", "-Os", "-O2", "-O3")
FUNCTIONS = {"pfc_sha256_compress", "pfc_sha256_compress_two", "pfc_sha256_forget"}

SYMBOL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
LINE = re.compile(r"^ +[0-9a-f]+:\t(?:[0-9a-f]{2,8} (?:[0-9a-f]{2} )*\s*\t)?(\S+)\s*(.*)")


class X86:
    """x86-64, as objdump writes it: sources first, the destination last."""
    VECTOR = {"movdqu", "movdqa", "movups", "movaps", "paddd", "palignr", "pblendw", "pshufb", "pshufd", "pxor",
              "sha256msg1", "sha256msg2", "sha256rnds2"}
    GENERAL = {"mov", "movq", "movl", "lea", "leaq", "add", "addq", "sub", "subq", "xor", "xorl", "test", "testq",
               "cmp", "cmpl", "cmpq", "push", "pushq", "pop", "popq", "endbr64", "nop", "nopw", "nopl", "leave",
               "ret", "retq", "data16", "cs", "xchg"}
    JUMPS = {"je", "jne", "jmp"}
    # Operands in brackets that are no memory.
    ADDRESSES = {"lea", "leaq", "nop", "nopw", "nopl", "data16", "cs"}
    LOST = {f"%xmm{n}" for n in range(16)}

    @staticmethod
    def operands(text):
        return [part.strip() for part in re.split(r",(?![^(]*\))", text.split("#")[0]) if part.strip()]

    @classmethod
    def findings(cls, name, operands):
        vectors = [o for o in operands if o.startswith("%xmm")]
        memory = [o for o in operands if "(" in o and name not in cls.ADDRESSES]
        if name in cls.JUMPS:
            return [] if "*" not in "".join(operands) else ["calls: an indirect jump"]
        if name in cls.VECTOR:
            inside = [m for m in memory if re.search(r"\(%r[sb]p|,", m[m.index("("):])]
            return [f"vector: {m} is not one register and a constant outside the frame" for m in inside]
        if name not in cls.GENERAL:
            return [f"instruction: {name} is not on the list"]
        if vectors:
            return [f"general: {name} reads or writes {vectors[0]}"]
        # A store to memory that is not the frame would be of no use, and a load could be of a secret.
        return [f"general: {m} is not of the frame" for m in memory if not re.search(r"\(%r[sb]p\)$", m)]

    @classmethod
    def stored(cls, name, operands):
        return name.startswith("mov") and name in cls.VECTOR and "(" in operands[-1]

    @classmethod
    def written(cls, name, operands):
        """(the vector register this writes, whether with zeros), or (None, False)."""
        if name not in cls.VECTOR or not operands[-1].startswith("%xmm"):
            return None, False
        return operands[-1], name == "pxor" and operands[0] == operands[-1]


class Arm:
    """64-bit Arm, as objdump writes it: the destination first."""
    VECTOR = {"ld1", "ldr", "ldp", "stp", "str", "rev32", "add", "mov", "movi", "sha256h", "sha256h2", "sha256su0",
              "sha256su1"}
    GENERAL = {"mov", "add", "sub", "subs", "adrp", "adr", "ldr", "str", "ldp", "stp", "cmp", "nop", "ret", "bti",
               "paciasp", "autiasp", "hint", "movz"}
    JUMPS = {"b", "b.ne", "b.eq", "cbz", "cbnz"}
    LOST = {f"v{n}" for n in (*range(8), *range(16, 32))}
    REGISTER = re.compile(r"\b[vqds](\d+)\b")

    @staticmethod
    def operands(text):
        return [part.strip() for part in re.split(r",(?![^\[{]*[\]}])", text.split("//")[0]) if part.strip()]

    @classmethod
    def findings(cls, name, operands):
        text = ", ".join(operands)
        memory = re.findall(r"\[([^\]]*)\]", text)
        vectors = cls.REGISTER.search(re.sub(r"\[[^\]]*\]|<[^>]*>", "", text))
        frame = all(m.split(",")[0] in ("sp", "x29") for m in memory)
        if name in cls.JUMPS:
            return []
        if vectors:
            if name not in cls.VECTOR:
                return [f"instruction: {name} is not on the list"]
            plain = re.sub(r"\[[^\]]*\]|<[^>]*>", "", text)
            if re.search(r"\b[xw]\d+\b", plain):
                return [f"general: {name} {text} moves between the kinds of registers"]
            if memory and (frame or any(re.search(r"[xw]\d+.*[xw]\d+", m) for m in memory)):
                return [f"vector: [{memory[0]}] is not one register and a constant outside the frame"]
            return []
        if name not in cls.GENERAL:
            return [f"instruction: {name} is not on the list"]
        return [f"general: [{memory[0]}] is not of the frame"] if memory and not frame else []

    @classmethod
    def stored(cls, name, operands):
        return name in ("stp", "str") and bool(cls.REGISTER.match(operands[0]))

    @classmethod
    def written(cls, name, operands):
        found = operands and cls.REGISTER.match(operands[0].lstrip("{"))
        if not found or name in ("stp", "str"):
            return None, False
        return f"v{found[1]}", name == "movi" and operands[1] in ("#0x0", "#0")


def functions_of(path):
    """(machine, {name: [(instruction, operands)]})"""
    reader = os.environ.get("OBJDUMP", "objdump")
    text = subprocess.run([reader, "-d", "--no-show-raw-insn", str(path)], check=True, capture_output=True,
                          text=True).stdout
    machine = Arm if "aarch64" in text.split("\n\n")[0] + text[:400] else X86
    functions, name = {}, None
    for line in text.splitlines():
        if found := SYMBOL.match(line):
            name = found[1]
            functions[name] = []
        elif name and (found := LINE.match(line)):
            functions[name].append((found[1], machine.operands(found[2])))
    return machine, functions


def judge(path):
    """Returns (checks, findings)."""
    machine, functions = functions_of(path)
    findings = [f"no function {name}" for name in sorted(FUNCTIONS - functions.keys())]
    for name, body in sorted(functions.items()):
        for instruction, operands in body:
            findings += [f"{name}: {fault}" for fault in machine.findings(instruction, operands)]
        last = max((i for i, (what, on) in enumerate(body) if machine.stored(what, on)), default=-1)
        zero = set()
        for instruction, operands in body[last + 1:]:
            register, cleared = machine.written(instruction, operands)
            if register:
                (zero.add if cleared else zero.discard)(register)
        findings += [f"{name}: cleared: {register} is left as it was" for register in sorted(machine.LOST - zero)]
    return len(FUNCTIONS), findings


# The kernel of this machine, with a fault each; the rule that must find it.
PLANTED = [
    ("a word of the block is an index into a table", "general",
     [("sha256_x86.c", '#define CLEAR_REGISTERS  ',
       '#define CLEAR_REGISTERS "movq %%xmm3, %%rax\\n\\tmovdqu (%%rsi,%%rax,1), %%xmm3\\n\\t"  ')]),
    ("a word of the state decides on a return", "general",
     [("sha256_x86.c", "  if (count == 0) return;\n", "  if (count == 0 || state[0] == 7) return;\n")]),
    ("vectors are compared", "instruction",
     [("sha256_x86.c", '      "1:\\n\\t"\n', '      "1:\\n\\tptest %%xmm1, %%xmm1\\n\\tje 1b\\n\\t"\n')]),
    ("a word of the block is shifted by another", "instruction",
     [("sha256_x86.c", '"paddd " t ", " m0 "', '"psrld " t ", " m0 "')]),
    ("words are kept on the stack", "vector",
     [("sha256_x86.c", '      "movdqa %%xmm1, %%xmm8\\n\\t"\n',
       '      "movdqa %%xmm1, %%xmm8\\n\\tmovdqu %%xmm1, -128(%%rsp)\\n\\t"\n')]),
    ("the block is read at a place that a register adds", "vector",
     [("sha256_x86.c", '"movdqu " offset "(%[" block "]), " m "\\n\\t" \\\n',
       '"movdqu " offset "(%[" block "],%%rax), " m "\\n\\t" \\\n')]),
    ("a register keeps words of the schedule", "cleared",
     [("sha256_x86.c", 'CLEAR("%%xmm13") ', "")]),
]


def compile_to(compiler, level, source, target, *more):
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-fPIC", level, *more, f"-I{CORE}",
                    f"-I{CORE / 'include'}", "-c", str(source), "-o", str(target)], check=True)


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    passed = failed = 0

    def count(where, checks, findings):
        nonlocal passed, failed
        for finding in findings[:12]:
            print(f"kernels: {where}: {finding}")
        passed += max(checks - len(findings), 0)
        failed += len(findings)

    if arguments[:1] == ["--object"]:
        for path in arguments[1:]:
            count(path, *judge(path))
    else:
        for compiler in ("gcc", "clang"):
            for level in LEVELS:
                built = OUT / "kernel.o"
                compile_to(compiler, level, CORE / "sha256_x86.c", built)
                count(f"{compiler}{level}", *judge(built))
            for what, rule, edits in PLANTED:
                for name, text in changed(CORE, edits).items():
                    (OUT / name).write_text(text)
                    compile_to(compiler, "-O2", OUT / name, OUT / "planted.o", "-w")
                seen = any(f": {rule}: " in finding for finding in judge(OUT / "planted.o")[1])
                count(f"{compiler}, planted", 1, [] if seen else [f"not found: {what} ({rule})"])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
