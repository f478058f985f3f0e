"""Read a regular expression of RE2's syntax, which Go uses, into a tree; refuse what RE2 refuses, in Go's words."""

from dataclasses import dataclass, field

from fleetqueue.embedded.apiserver.validation.cel.char_ranges import (
    MAX_CHAR,
    PERL,
    POSIX,
    Ranges,
    category,
    inverted,
    joined,
)

MAX_REPEAT = 1000


class BadPattern(ValueError):
    def __init__(self, code: str, part: str = "") -> None:
        super().__init__(f"error parsing regexp: {code}" + (f": `{part}`" if part else ""))


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A node: chars, assert, all, any_of or repeat."""

    kind: str
    chars: Ranges = ()
    assertion: str = ""
    """begin, end, begin_line, end_line, word or not_word."""
    parts: "tuple[PatternNode, ...]" = ()
    low: int = 0
    high: int | None = None
    is_lazy: bool = False
    is_capture: bool = field(default=False)


_CONTROL = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def parsed(pattern: str) -> PatternNode:
    """Return the tree of a pattern; raises BadPattern."""
    reader = _Reader(pattern)
    tree = reader.alternatives(0)
    if reader.at < len(pattern):
        raise BadPattern("unexpected )", pattern)
    return tree


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def alternatives(self, depth: int) -> PatternNode:
        if depth > MAX_REPEAT:
            raise BadPattern("expression nests too deeply", self.text)
        before = self.flags
        sequences = [self.sequence(depth)]
        while self.peek() == "|":
            self.at += 1
            sequences.append(self.sequence(depth))
        self.flags = before  # a flag set inside a group ends with it
        return sequences[0] if len(sequences) == 1 else PatternNode("any_of", parts=tuple(sequences))

    def sequence(self, depth: int) -> PatternNode:
        parts: list[PatternNode] = []
        while self.at < len(self.text) and self.peek() not in "|)":
            self.one(parts, depth)
        return PatternNode("all", parts=tuple(parts))

    def one(self, parts: list[PatternNode], depth: int) -> None:
        char = self.peek()
        if char == "(":
            group = self.group(depth)
            if group is not None:
                parts.append(self.repeated(group))
        elif char in "*+?":
            raise BadPattern("missing argument to repetition operator", char)
        elif char == "{" and self.counts() is not None:
            low = self.at
            self.at = self.counts()[2]  # type: ignore[index]
            raise BadPattern("missing argument to repetition operator", self.text[low : self.at])
        elif self.peek(2) == "\\Q":
            parts.extend(self.quoted())
        else:
            parts.append(self.repeated(self.atom()))

    def quoted(self) -> list[PatternNode]:
        self.at += 2
        end = self.text.find("\\E", self.at)
        literal = self.text[self.at : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        parts = [self.literal(ord(char)) for char in literal]
        if parts:
            parts[-1] = self.repeated(parts[-1])
        return parts

    def group(self, depth: int) -> PatternNode | None:
        """Read a group; None if it only sets flags for what follows."""
        start = self.at
        self.at += 1
        before = self.flags
        is_capture = True
        if self.peek() == "?":
            is_capture = self.named() or self.flagged()
            if self.text[self.at - 1] == ")":
                return None
        inner = self.alternatives(depth + 1)
        if self.peek() != ")":
            raise BadPattern("missing closing )", self.text)
        self.at += 1
        self.flags = before
        assert self.at > start
        return PatternNode("all", parts=(inner,), is_capture=is_capture)

    def named(self) -> bool:
        """Read the name of a group, if it has one."""
        start = self.at - 1
        opening = 4 if self.peek(3) == "?P<" else 3 if self.peek(2) == "?<" else 0
        if not opening:
            return False
        end = self.text.find(">", start)
        if end < 0:
            raise BadPattern("invalid named capture", self.text[start:])
        name = self.text[start + opening : end]
        if not name or not set(name) <= _NAME:
            raise BadPattern("invalid named capture", self.text[start : end + 1])
        self.at = end + 1
        return True

    def flagged(self) -> bool:
        """Read `?flags:` or `?flags)`; the flags hold from here on."""
        start = self.at - 1
        self.at += 1
        flags, negative, seen = set(self.flags), False, False
        while self.at < len(self.text):
            char = self.peek()
            self.at += 1
            if char in "imsU":
                (flags.discard if negative else flags.add)(char)
                seen = True
            elif char == "-" and not negative:
                negative, seen = True, False
            elif char in ":)" and not (negative and not seen):
                self.flags = frozenset(flags)
                return False
            else:
                break
        raise BadPattern("invalid or unsupported Perl syntax", self.text[start : self.at])

    def repeated(self, part: PatternNode) -> PatternNode:
        first = ""
        while True:
            start = self.at
            bounds = self.quantifier()
            if bounds is None:
                return part
            if first:
                raise BadPattern("invalid nested repetition operator", first + self.text[start : self.at])
            first = self.text[start : self.at]
            low, high = bounds
            if (low > MAX_REPEAT) or (high or 0) > MAX_REPEAT or (high is not None and low > high):
                raise BadPattern("invalid repeat count", first)
            is_lazy = self.peek() == "?"
            self.at += is_lazy
            first += "?" * is_lazy
            part = PatternNode("repeat", parts=(part,), low=low, high=high, is_lazy=is_lazy != ("U" in self.flags))
            if repeats(part) > MAX_REPEAT:
                raise BadPattern("invalid repeat count", first)

    def quantifier(self) -> tuple[int, int | None] | None:
        char = self.peek()
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char) if char else None
        if simple:
            self.at += 1
            return simple
        counts = self.counts() if char == "{" else None
        if counts is None:
            return None
        self.at = counts[2]
        return counts[0], counts[1]

    def counts(self) -> tuple[int, int | None, int] | None:
        """Read `{2}`, `{2,}` or `{2,3}`; None if the brace is just a brace."""
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if end < 0 or not low.isdecimal() or (high and not high.isdecimal()):
            return None
        least = min(int(low), MAX_REPEAT + 1) if len(low) < 9 else MAX_REPEAT + 1
        return least, (least if not comma else int(high) if high else None), end + 1

    def atom(self) -> PatternNode:
        char = self.peek()
        self.at += 1
        if char == "[":
            return self.bracket()
        if char == ".":
            return PatternNode("chars", ((0, MAX_CHAR),) if "s" in self.flags else ((0, 9), (11, MAX_CHAR)))
        if char == "^":
            return PatternNode("assert", assertion="begin_line" if "m" in self.flags else "begin")
        if char == "$":
            return PatternNode("assert", assertion="end_line" if "m" in self.flags else "end")
        return self.escape() if char == "\\" else self.literal(ord(char))

    def literal(self, code: int) -> PatternNode:
        return PatternNode("chars", self.folded(((code, code),)))

    def folded(self, ranges: Ranges) -> Ranges:
        """Add the other cases of letters, if case does not count."""
        if "i" not in self.flags or sum(high - low for low, high in ranges) > 5000:
            return ranges
        codes = {code for low, high in ranges for code in range(low, high + 1)}
        for code in list(codes):
            for other in {chr(code).lower(), chr(code).upper(), chr(code).swapcase()}:
                if len(other) == 1:
                    codes.add(ord(other))
        return joined((code, code) for code in codes)

    def escape(self) -> PatternNode:
        char = self.peek()
        assertion = {"A": "begin", "z": "end", "b": "word", "B": "not_word"}.get(char)
        if assertion:
            self.at += 1
            return PatternNode("assert", assertion=assertion)
        ranges = self.class_escape()
        return PatternNode("chars", self.folded(ranges)) if ranges is not None else self.literal(self.char_escape())

    def class_escape(self) -> Ranges | None:
        """Read `\\d`, `\\W`, `\\pL` and the like, after the backslash."""
        char = self.peek()
        if char and char.lower() in PERL:
            self.at += 1
            return PERL[char] if char in PERL else inverted(PERL[char.lower()])
        if char and char in "pP":
            return self.unicode_class(char == "P")
        return None

    def unicode_class(self, is_negative: bool) -> Ranges:
        start = self.at - 1
        self.at += 1
        end = self.text.find("}", self.at) if self.peek() == "{" else self.at
        name = self.text[self.at + 1 : end] if self.peek() == "{" else self.peek()
        self.at = end + 1
        is_negative ^= name.startswith("^")
        ranges = category(name.removeprefix("^")) if end >= 0 and name else ()
        if not ranges:
            raise BadPattern("invalid character class range", self.text[start : self.at])
        return inverted(ranges) if is_negative else ranges

    def char_escape(self) -> int:
        """Read an escaped character, after the backslash."""
        start = self.at - 1
        if self.at >= len(self.text):
            raise BadPattern("trailing backslash at end of expression")
        char = self.peek()
        self.at += 1
        if char in _CONTROL:
            return _CONTROL[char]
        if char in _PUNCTUATION:
            return ord(char)
        if char == "x":
            return self.hexadecimal(start)
        if char == "0" or (char in "1234567" and self.peek() and self.peek() in "01234567"):
            digits = char
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.peek()
                self.at += 1
            return int(digits, 8)
        raise BadPattern("invalid escape sequence", self.text[start : self.at])

    def hexadecimal(self, start: int) -> int:
        if self.peek() == "{":
            end = self.text.find("}", self.at)
            digits = self.text[self.at + 1 : end] if end >= 0 else ""
            self.at = end + 1
        else:
            digits = self.peek(2) if len(self.peek(2)) == 2 else ""
            self.at += 2
        try:
            code = int(digits, 16)
        except ValueError:
            code = MAX_CHAR + 1
        if code > MAX_CHAR:
            raise BadPattern("invalid escape sequence", self.text[start : self.at])
        return code

    def bracket(self) -> PatternNode:
        start = self.at - 1
        is_negative = self.peek() == "^"
        self.at += is_negative
        char_ranges: list[tuple[int, int]] = []
        first = True
        while first or self.peek() != "]":
            if self.at >= len(self.text):
                raise BadPattern("missing closing ]", self.text[start:])
            self.member(char_ranges)
            first = False
        self.at += 1
        ranges = self.folded(joined(char_ranges))
        if is_negative:
            ranges = inverted(ranges)
        return PatternNode("chars", ranges)

    def member(self, char_ranges: list[tuple[int, int]]) -> None:
        if self.peek(2) == "[:" and ":]" in self.text[self.at :]:
            end = self.text.index(":]", self.at)
            name = self.text[self.at + 2 : end]
            ranges = POSIX.get(name.removeprefix("^"))
            if ranges is None:
                raise BadPattern("invalid character class range", self.text[self.at : end + 2])
            self.at = end + 2
            char_ranges.extend(inverted(ranges) if name.startswith("^") else ranges)
            return
        if self.peek() == "\\":
            self.at += 1
            special = self.class_escape()
            if special is not None:
                char_ranges.extend(special)
                return
            self.at -= 1
        start = self.at
        low = high = self.single()
        if self.peek() == "-" and self.peek(2)[1:] not in ("]", ""):
            self.at += 1
            high = self.single()
            if high < low:
                raise BadPattern("invalid character class range", self.text[start : self.at])
        char_ranges.append((low, high))

    def single(self) -> int:
        char = self.peek()
        self.at += 1
        if not char:
            raise BadPattern("missing closing ]", self.text)
        return self.char_escape() if char == "\\" else ord(char)


def repeats(part: PatternNode) -> int:
    """How often the innermost part is written out when all counts are."""
    inner = max(map(repeats, part.parts), default=1)
    if part.kind != "repeat":
        return inner
    return inner * max(part.low, part.high or 1, 1)
