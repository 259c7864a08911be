# SPDX-License-Identifier: Apache-2.0

"""Mutations of a line of C."""

import re

from source import Mutant

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
KEYWORDS = ("return", "if", "else", "for", "while", "do", "switch", "case", "default", "goto", "break", "continue",
            "static", "const", "struct", "enum", "union", "typedef", "extern", "sizeof", "volatile", "_Static_assert")


def candidates(source, number):
    """All mutants that begin on this line."""
    masked, start = source.line(number)
    found = [*constants(source, masked, start)]
    if in_function(source, start + len(masked)) or in_function(source, start):
        for make in (conditions, comparisons, logic, statements, returns, swaps):
            found += make(source, masked, start)
    return found


def in_function(source, at):
    outer, last = source.enclosing(at), None
    while outer is not None:
        last, outer = outer, source.enclosing(outer)
    return last is not None and source.masked[:last].rstrip().endswith(")") and source.masked[last] == "{"


def conditions(source, masked, start):
    for match in re.finditer(r"\b(?:if|while) \(", masked):
        opened = start + match.end() - 1
        if opened not in source.partner:
            continue
        span = (opened + 1, source.partner[opened])
        clause = source.text[span[0]:span[1]]
        yield Mutant("condition negated", source, span[0], [(*span, f"!({clause})")])
        if match.group().startswith("if"):
            yield Mutant("branch removed", source, span[0], [(*span, f"({clause}) && 0")])
    for match in re.finditer(r"\} else \{", masked):
        at = start + match.end() - 1
        yield Mutant("branch removed", source, at, [(at, at, "if (0) ")])


def comparisons(source, masked, start):
    for match in re.finditer(r" (<=?|>=?|==|!=) ", masked):
        old = match.group(1)
        operator = "condition negated" if old in ("==", "!=") else "comparison boundary"
        span = (start + match.start(1), start + match.end(1))
        yield Mutant(operator, source, span[0], [(*span, COMPARISONS[old])])


def logic(source, masked, start):
    for match in re.finditer(r"&&|\|\|", masked):
        new = "||" if match.group() == "&&" else "&&"
        yield Mutant("and/or", source, start + match.start(), [(start + match.start(), start + match.end(), new)])


def constants(source, masked, start):
    for match in re.finditer(r"(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(?![\w.])|(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(?=[uUlL]+\b)",
                             masked):
        text = match.group(1) or match.group(2)
        at = start + match.start()
        is_flag = text == "1" and source.text[start:].startswith("#define")
        # A return value has an operator of its own. A flag has no neighbours, and a parameter's size is a comment.
        if re.search(r"\breturn -?$", masked[:match.start()]) or is_flag or is_parameter_size(source, at):
            continue
        yield from off_by_one(source, at, text)


def is_parameter_size(source, at):
    size = source.enclosing(at)
    if size is None or source.masked[size] != "[":
        return False
    parameters = source.enclosing(size)
    return parameters is not None and source.masked[parameters] == "(" and source.enclosing(parameters) is None


def off_by_one(source, at, text, choice=None):
    value = int(text, 0) if not re.fullmatch(r"0\d+", text) else int(text, 8)
    for new in {value + 1, abs(value - 1)}:
        written = f"{new:#x}" if text.startswith("0x") else str(new)
        yield Mutant("constant", source, at, [(at, at + len(text), written)],
                     choice and [(at, at + len(text), choice(text, written))])


def statements(source, masked, start):
    stripped = masked.lstrip()
    # Also behind a condition on the same line.
    body = re.match(r"(?:\} )?(?:else )?if \(", stripped)
    at = start + len(masked) - len(stripped)
    if body:
        opened = at + body.end() - 1
        if opened not in source.partner or source.line_of(source.partner[opened]) != source.line_of(at):
            return
        at = source.partner[opened] + 1
        at += len(source.masked[at:]) - len(source.masked[at:].lstrip(" "))
    else:
        before = source.masked[:at].rstrip()
        if before and before[-1] not in "{};)":
            return
    end = source.masked.find(";", at)
    if end < 0 or source.enclosing(at) != source.enclosing(end):
        return
    text = source.masked[at:end]
    if re.match(r"(?:return|break|continue|goto \w+)$", text) and body:
        yield Mutant("statement removed", source, at, [(at, end, "")])
    word = re.match(r"[*(]*(\w+)", text)
    if not word or word.group(1) in KEYWORDS or "{" in text:
        return
    is_call = re.match(r"(?:\(void\) ?)?\w[\w.>\[\]-]*\(", text)
    left = re.match(r"([^=;]*?) (?:=|\+=|-=|\|=|&=|\^=|<<=|>>=) ", text)
    is_assignment = left and not re.search(r"\w[ ]+\**\w", left.group(1))
    if is_call or is_assignment or re.fullmatch(r"[\w.>\[\]-]+(\+\+|--)|(\+\+|--)[\w.>\[\]-]+", text):
        yield Mutant("statement removed", source, at, [(at, end, "")])


def returns(source, masked, start):
    for match in re.finditer(r"\breturn ([^;]+);", masked):
        span = (start + match.start(1), start + match.end(1))
        old = source.text[span[0]:span[1]]
        if old in ("0", "false", "PFC_OK"):
            news = ["1"]
        elif old == "NULL":
            news = []
        else:
            news = ["0", f"!({old})"]
        for new in news:
            yield Mutant("return value replaced", source, span[0], [(*span, new)])


def swaps(source, masked, start):
    for match in re.finditer(r"\b(\w+)\(", masked):
        opened = start + match.end() - 1
        if match.group(1) in KEYWORDS or opened not in source.partner:
            continue
        yield from swapped(source, source.split(opened + 1, source.partner[opened]), r"[\w.&*>\[\]-]+")


def swapped(source, spans, simple, choice=None):
    """Neighbours among simple arguments change places."""
    for first, second in zip(spans, spans[1:]):
        one, two = (source.text[begin:end] for begin, end in (first, second))
        if one != two and re.fullmatch(simple, one) and re.fullmatch(simple, two):
            yield Mutant("arguments swapped", source, first[0], [(*first, two), (*second, one)],
                         choice and [(*first, choice(one, two)), (*second, choice(two, one))])
