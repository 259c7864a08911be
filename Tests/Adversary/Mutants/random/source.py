# SPDX-License-Identifier: Apache-2.0

"""Source text as the drawing sees it: comments and strings masked, brackets matched. For C and Swift."""

import bisect
import re

OPEN, CLOSE = "([{", ")]}"


class Mutant:
    """One change of one file. `edits` are (start, end, new text); `choice` are those that ask at run time whether this
    mutant is the chosen one, or None where the language has no room for that."""

    def __init__(self, operator, source, start, edits, choice=None, declares=None):
        self.operator, self.source, self.start = operator, source, start
        self.edits, self.choice, self.declares = edits, choice, declares

    @property
    def line(self):
        return self.source.line_of(self.start)

    def describe(self):
        """The line before and after."""
        before = self.source.text
        after = self.source.edited(self.edits)
        first = before.rfind("\n", 0, self.start) + 1
        last = before.find("\n", max(end for _, end, _ in self.edits))
        return (squeezed(before[first:last]), squeezed(after[first:last + len(after) - len(before)]))


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()[:300]


class Source:
    """A file, its masked text (same length, lines kept) and its brackets."""

    def __init__(self, path, name, language, unseen=()):
        """No mutant is drawn of lines that are `unseen`."""
        self.name, self.language, self.unseen = name, language, unseen
        self.text = path.read_text(encoding="utf-8")
        self.masked = (mask_swift if language == "swift" else mask_c)(self.text)
        self.starts = [0] + [match.end() for match in re.finditer("\n", self.text)]
        self.partner, self.outer = {}, {}
        self.match_brackets()

    def line_of(self, at):
        return bisect.bisect_right(self.starts, at)

    def line(self, number):
        """The masked line of this number, and where it starts."""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.masked[start:end], start

    def match_brackets(self):
        stack = []
        for match in re.finditer(r"[()\[\]{}]", self.masked):
            at = match.start()
            self.outer[at] = stack[-1] if stack else None
            if match.group() in OPEN:
                stack.append(at)
            elif stack:
                self.partner[stack[-1]] = at
                self.partner[at] = stack.pop()
        self.bracket_places = sorted(self.outer)

    def enclosing(self, at):
        """The innermost bracket that is open at this place, or None."""
        index = bisect.bisect_left(self.bracket_places, at) - 1
        if index < 0:
            return None
        near = self.bracket_places[index]
        if self.masked[near] in OPEN:
            return near
        return self.outer.get(self.partner.get(near))

    def code_lines(self):
        return [number for number in range(1, len(self.starts) + 1)
                if number not in self.unseen and re.search(r"\w", self.line(number)[0])]

    def edited(self, edits):
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def split(self, start, end, separator=","):
        """Spans between separators that stand in no further bracket."""
        spans, at, begin = [], start, start
        while at < end:
            if self.masked[at] in OPEN and at in self.partner:
                at = self.partner[at]
            elif self.masked[at] == separator:
                spans.append((begin, at))
                begin = at + 1
            at += 1
        spans.append((begin, end))
        return [self.trimmed(*span) for span in spans]

    def trimmed(self, start, end):
        while start < end and self.masked[start].isspace() and self.text[start].isspace():
            start += 1
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return start, end


def blank(text):
    return re.sub(r"[^\n]", " ", text)


C_MASK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
                    re.DOTALL | re.MULTILINE)
NUMBER_DEFINED = re.compile(r"^#define [A-Z][A-Z0-9_]* (0x[0-9A-Fa-f]+|\d+)[uUlL]*[ \t]*(?://.*)?$")


def mask_c(text):
    def hidden(match):
        found = match.group()
        defined = NUMBER_DEFINED.match(found)
        if defined:  # A limit of the module: its number can be drawn.
            start, end = defined.span(1)
            return " " * start + found[start:end] + " " * (len(found) - end)
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[-1]
        return blank(found)
    return C_MASK.sub(hidden, text)


SWIFT_MASK = re.compile(r'/\*.*?\*/|//[^\n]*|#+"(?:.|\n)*?"#+|"""(?:\\.|.)*?"""|"', re.DOTALL)


def mask_swift(text):
    pieces, at = [], 0
    while True:
        match = SWIFT_MASK.search(text, at)
        if not match:
            return "".join(pieces) + text[at:]
        pieces.append(text[at:match.start()])
        end = string_end(text, match.end()) if match.group() == '"' else match.end()
        found = text[match.start():end]
        quoted = '"' in (found[0], found[-1]) and not found.startswith("/")
        pieces.append('"' + blank(found[1:-1]) + '"' if quoted else blank(found))
        at = end


def string_end(text, at):
    """The end of a Swift string whose text begins here; what it interpolates may hold further strings."""
    while at < len(text) and text[at] not in '"\n':
        if text.startswith("\\(", at):
            depth, at = 1, at + 2
            while depth and at < len(text):
                if text[at] == '"':
                    at = string_end(text, at + 1) - 1
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
        else:
            at += 2 if text[at] == "\\" else 1
    return at + 1
