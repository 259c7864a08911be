# SPDX-License-Identifier: Apache-2.0

"""Finds openers and words that hide the subject of a sentence, in comments, documentation comments and pages.

    for finding in findings(name, text, kind): print(finding)

Comments, docstrings and the paragraphs of pages are prose. Code, string literals, code blocks and `code spans` are not.
"""

import ast
import io
import re
import tokenize

# Folders that the rule does not cover yet, as "Sources/". Take one out as soon as it has no finding.
NOT_YET = ()

# A line begins with its subject or its verb instead.
OPENER = re.compile(r"(What|Whoever|Whatever|Who|Whom|Whose|Which|Of|But|And|Or|Nor|Nobody|Neither|Without|Against|"
                    r"There (?:is|are))(?=[\s*\]]|$)")

# A sentence names who acts, and says the fact alone.
WORD = re.compile(r"\b(whoever|nobody|somebody|anybody|everybody|someone|no one|one who|who does so|"
                  r"all the same|for once)\b", re.IGNORECASE)

# Signs before a line's first word: of a comment, a heading, a list, a table, a quotation, emphasis.
SIGNS = re.compile(r"[\s/!#*<>|-]*(?:\d+\.\s+)?[*_\[]*")

# String and character literals come first, so that `//` in one begins no comment.
C = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)

# The sign of a comment stands at the start of a line or behind a space.
HASH = re.compile(r"(?:^|(?<=\s))##? .*")

SWIFT_STRING = re.compile(r'(#*)("""|")')


def line_at(text, index):
    return text.count("\n", 0, index) + 1


def of_c(text):
    for found in C.finditer(text):
        if found["comment"]:
            yield line_at(text, found.start()), found["comment"]


def of_swift(text):
    # An open string as its delimiters, or the count of parentheses open in an interpolation: `"\(a["b"])"` nests.
    stack, at = [], 0
    while at < len(text):
        if stack and isinstance(stack[-1], tuple):
            hashes, quote = stack[-1]
            if text.startswith(f"\\{hashes}(", at):
                stack.append(0)
                at += 2 + len(hashes)
            elif text.startswith(quote + hashes, at) or (quote == '"' and text[at] == "\n"):
                stack.pop()
                at += 1 if text[at] == "\n" else len(quote + hashes)
            else:
                at += 2 if text[at] == "\\" and not hashes else 1
        elif text.startswith(("//", "/*"), at):
            close = "\n" if text[at + 1] == "/" else "*/"
            end = text.find(close, at + 2)
            end = end if end >= 0 else len(text)
            yield line_at(text, at), text[at:end]
            at = end + len(close)
        elif found := SWIFT_STRING.match(text, at):
            stack.append(found.groups())
            at = found.end()
        else:
            if stack:
                stack[-1] += {"(": 1, ")": -1}.get(text[at], 0)
                if stack[-1] < 0:
                    stack.pop()
            at += 1


def of_python(text):
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                if ast.get_docstring(node):
                    yield node.body[0].lineno, node.body[0].value.value
    except (SyntaxError, tokenize.TokenError):
        return  # pyflakes reports it


def of_hash(text):
    for number, line in enumerate(text.split("\n"), 1):
        if found := HASH.search(line):
            yield number, found[0]


def of_page(text):
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


READERS = {"c": of_c, "swift": of_swift, "python": of_python, "shell": of_hash, "make": of_hash, "page": of_page}


def covers(name, kind):
    """Whether the rule applies to a file; `kind` as Tests/Process/Form/run.py calls its language."""
    return not name.startswith(NOT_YET) and (name.endswith(".md") or kind in READERS)


def findings(name, text, kind):
    """Yields a line for each opener and each word."""
    for first, block in READERS["page" if name.endswith(".md") else kind](text):
        for number, line in enumerate(block.split("\n"), first):
            line = re.sub(r"`[^`]*`", "``", line)
            cells = line.split("|") if line.lstrip(" /*").startswith("|") else [line]
            for cell in cells:
                if found := OPENER.match(cell, SIGNS.match(cell).end()):
                    yield f"{name}:{number}: begins with \"{found[1]}\": begin with the subject or the verb"
            for found in WORD.finditer(line):
                yield f"{name}:{number}: \"{found[1]}\": name who acts, and say the fact alone"
