# SPDX-License-Identifier: Apache-2.0

"""Mutations of a line of Swift. Each mutant has a second form that asks `isMutant(NUMBER)` at run time, so
that one build holds many; NUMBER stands for the mutant's number."""

import re

from operators_c import COMPARISONS, off_by_one, swapped
from source import Mutant

ASKED = "isMutant(NUMBER)"
PREFIX = re.compile(r"(?:(?:try|await|unsafe)\b[?!]? ?)*")
BINDING = re.compile(r"(?:let|var|case|#available|#unavailable)\b")
DECLARING = re.compile(r"(?:" + "|".join("""
    let var func case default init deinit subscript import public package private internal static struct enum
    class actor extension protocol typealias if guard for while switch do repeat else catch defer override
    mutating consuming borrowing nonisolated final indirect some any get set where in is as fileprivate operator
    precedencegroup associatedtype convenience required lazy weak
""".split()) + r")\b")
HEADER = re.compile(r"(?:\b(?:func|subscript)\b[^{}]*->\s*|\bvar\s+\w+\s*:\s*)([^{}=]+?)\s*$")


def choice(old, new):
    return f"({ASKED} ? {new} : {old})"


def candidates(source, number):
    masked, start = source.line(number)
    if re.match(r"\s*(?:import|internal import|public import|package import|@available|#if|#endif)\b", masked):
        return []
    found = []
    for make in (conditions, comparisons, logic, constants, statements, returns, swaps):
        found += make(source, masked, start)
    return found


def clauses(source, masked, start):
    """Whether it is a guard, and the clauses of each condition that begins on this line."""
    for match in re.finditer(r"\b(if|guard|while) ", masked):
        begin = end = start + match.end()
        home = source.enclosing(begin)
        while end < len(source.masked):
            if source.masked[end] == "{" and (match.group(1) != "guard"
                                              or source.masked[:end].endswith("else ")):
                break
            if source.masked[end] in "([{" and end in source.partner:
                end = source.partner[end]
            elif source.masked[end] in ")]}":
                break
            end += 1
        if end >= len(source.masked) or source.masked[end] != "{" or source.enclosing(end) != home:
            continue
        if match.group(1) == "guard":
            end = source.masked.rindex("else", begin, end)
        yield match.group(1), source.split(*source.trimmed(begin, end)), begin


def conditions(source, masked, start):
    for kind, spans, begin in clauses(source, masked, start):
        for span in spans:
            text = source.text[slice(*span)]
            if BINDING.match(text) or not text:
                continue
            head = PREFIX.match(text).group()
            rest = text[len(head):]
            yield Mutant("condition negated", source, span[0], [(*span, f"{head}!({rest})")],
                         [(*span, f"{head}({ASKED} != ({rest}))")])
            if kind == "guard":
                yield Mutant("statement removed", source, span[0], [(*span, f"{head}(({rest}) || true)")],
                             [(*span, f"{head}(({rest}) || {ASKED})")])
        if kind == "if":
            yield Mutant("branch removed", source, begin, [(begin, begin, "Bool(false), ")],
                         [(begin, begin, f"!{ASKED}, ")])
    for match in re.finditer(r"\} else \{", masked):
        at = start + match.end() - 1
        yield Mutant("branch removed", source, at, [(at, at, "if Bool(false) ")], [(at, at, f"if !{ASKED} ")])


def own_operator(source, at, old, new, operator):
    mutant = Mutant(operator, source, at, [(at, at + len(old), new)], [(at, at + len(old), old + "MARK")])
    if old in ("&&", "||"):
        precedence = "LogicalConjunctionPrecedence" if old == "&&" else "LogicalDisjunctionPrecedence"
        parts = ("", "_ a: Bool, _ b: @autoclosure () throws -> Bool", " rethrows")
        says = f"{ASKED} ? try a {new} b() : try a {old} b()"
    else:
        precedence = "ComparisonPrecedence"
        parts = (f"<T: {'Equatable' if old in ('==', '!=') else 'Comparable'}>", "_ a: T, _ b: T", "")
        says = f"{ASKED} ? a {new} b : a {old} b"
    mutant.declares = (f"infix operator {old}MARK: {precedence}\n"
                       f"func {old}MARK {parts[0]}({parts[1]}){parts[2]} -> Bool {{ {says} }}\n")
    return mutant


def comparisons(source, masked, start):
    for match in re.finditer(r"(?<!func) (<=?|>=?|==|!=) ", masked):
        old = match.group(1)
        kind = "condition negated" if old in ("==", "!=") else "comparison boundary"
        yield own_operator(source, start + match.start(1), old, COMPARISONS[old], kind)


def logic(source, masked, start):
    for match in re.finditer(r" (&&|\|\|) ", masked):
        old = match.group(1)
        yield own_operator(source, start + match.start(1), old, "||" if old == "&&" else "&&", "and/or")


def constants(source, masked, start):
    for match in re.finditer(r"(?<![\w.$])(0x[0-9A-Fa-f]+|\d[\d_]*)(?![\w.])", masked):
        if "_" not in match.group():
            yield from off_by_one(source, start + match.start(), match.group(), choice)


def is_statement_start(source, at):
    home = source.enclosing(at)
    if home is None or source.masked[home] != "{":
        return False
    before = source.masked[:at].rstrip()
    newline = "\n" in source.masked[len(before):at]
    return before[-1] == "{" or (newline and bool(re.search(r"[\w)\]}\"?!]$", before)))


def statement_end(source, at):
    while True:
        end = at
        while end < len(source.masked) and source.masked[end] != "\n":
            if source.masked[end] in "([{" and end in source.partner:
                end = source.partner[end]
            elif source.masked[end] in ")]}":
                return end
            end += 1
        following = source.masked[end:].lstrip()
        if not re.match(r"[.?:&|+*/=<>%^-]", following) and not re.search(r"[=,(+&|?:<>-]$", source.masked[at:end]):
            return end
        at = end + len(source.masked[end:]) - len(following)


def statements(source, masked, start):
    stripped = masked.lstrip()
    places = [start + len(masked) - len(stripped)] if stripped else []
    places += [start + match.end() for match in re.finditer(r"\{ ", masked)]
    for at in places:
        text = source.masked[at:]
        word = re.match(r"[\w.]+", PREFIX.sub("", text, count=1))
        if not word or DECLARING.match(text) or re.match(r"return\b.|\w+:\s", text):
            continue
        if not is_statement_start(source, at):
            continue
        begin, end = source.trimmed(at, statement_end(source, at))
        if end <= begin or re.match(r"[\w, ()]+ in\b", text) or re.fullmatch(r"[\w.]+", text[:end - begin]) and \
                not re.match(r"(?:return|break|continue)\b", text):
            continue
        old = source.text[begin:end]
        yield Mutant("statement removed", source, begin, [(begin, end, "do {}")],
                     [(begin, end, f"if !{ASKED} {{ {old} }}")])


def returns(source, masked, start):
    for match in re.finditer(r"\breturn (?=\S)", masked):
        at = start + match.start()
        opened = body_of(source, at)
        if opened:
            old = source.text[start + match.end():statement_end(source, start + match.end())]
            yield from replaced(source, at, opened[1], old, "")
    for match in re.finditer(r"\{(?= \S)|\{$", masked):
        opened = start + match.start()
        kind = type_of(source, opened)
        if not kind or opened not in source.partner:
            continue
        begin, end = source.trimmed(opened + 1, source.partner[opened])
        body = source.masked[begin:end]
        indent = begin - source.masked.rfind("\n", 0, begin)
        is_one = all(len(line) - len(line.lstrip()) >= indent or line.strip() in ("}", ")", "]")
                     for line in body.split("\n")[1:])
        if body and is_one and not DECLARING.match(body) and not re.match(r"return\b|throw\b|_ =", body):
            yield from replaced(source, begin, kind, source.text[begin:end], "return ")


def body_of(source, at):
    """The function's or property's bracket around this place, with its type; None in a closure."""
    opened = source.enclosing(at)
    while opened is not None:
        if source.masked[opened] == "{":
            kind = type_of(source, opened)
            if kind:
                return opened, kind
            if re.match(r"[^\n]*\bin\b", source.masked[opened:]) or source.masked[:opened].endswith((") ", "= ")) and \
                    not re.search(r"\b(?:if|guard|while|for|switch|func|init)\b[^\n]*$", source.masked[:opened]):
                return None
        opened = source.enclosing(opened)
    return None


def type_of(source, opened):
    near = source.masked[max(0, opened - 400):opened]
    match = HEADER.search(re.split(r"[{}]", near)[-1])
    return match.group(1) if match and "\n\n" not in match.group() else None


def replaced(source, at, kind, old, keyword):
    if kind.endswith("?"):
        values = ["nil"]
    elif kind == "Bool":
        values = ["true", "false"]
    elif re.fullmatch(r"U?Int\d*", kind):
        values = ["0", "1"]
    elif kind.startswith("["):
        values = ["[:]" if re.match(r"\[[^\[\]]*:", kind) else "[]"]
    else:
        values = ['""'] if kind == "String" else []
    for value in values:
        if value != old.strip():
            forms = [[(at, at, f"if {asked} {{ return {value} }}; {keyword}")] for asked in ("Bool(true)", ASKED)]
            yield Mutant("return value replaced", source, at, *forms)


def swaps(source, masked, start):
    for match in re.finditer(r"\b(\w+)\(", masked):
        opened = start + match.end() - 1
        if opened not in source.partner or re.search(r"\bfunc $", masked[:match.start(1)]) or match.group(1) == "init":
            continue
        values = []
        for begin, end in source.split(opened + 1, source.partner[opened]):
            label = re.match(r"\w+: ", source.masked[begin:end])
            values.append((begin + (label.end() if label else 0), end))
        yield from swapped(source, values, r"[A-Za-z_.][\w.]*|\d+", choice)
