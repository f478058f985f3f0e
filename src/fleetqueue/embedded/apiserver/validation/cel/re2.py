"""Patterns with the meaning and the safety of RE2, on Python's engine where that is safe."""

import re
from functools import cached_property, lru_cache

from fleetqueue.embedded.apiserver.validation.cel.automaton import Automaton
from fleetqueue.embedded.apiserver.validation.cel.char_ranges import Ranges
from fleetqueue.embedded.apiserver.validation.cel.re2_syntax import BadPattern, PatternNode, parsed

__all__ = ["BadPattern", "Pattern", "compiled"]

SAFE_STEPS = 20_000
"""Steps that Python's engine may need at worst; above, the automaton searches. About a millisecond."""
_MANY = 8
"""A count from which a repetition is taken for an endless one."""


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> "Pattern":
    """Return a usable pattern; raises BadPattern with the words of Go."""
    return Pattern(parsed(pattern))


class Pattern:
    def __init__(self, tree: PatternNode) -> None:
        self.tree = tree
        self.python = re.compile(_written(tree))
        self.search = self.python.search
        self.is_ambiguous = _is_ambiguous(tree)
        self.repetitions = _repetitions(tree)

    @cached_property
    def automaton(self) -> Automaton:
        return Automaton(self.tree)

    def matches(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        if self.is_safe(text):
            return self.search(text) is not None
        return self.automaton.matches(text)

    def is_safe(self, text: str) -> bool:
        """Whether Python's engine is quick on this text even in the worst case."""
        if self.is_ambiguous:
            return len(text) < 12
        return self.repetitions < 2 or len(text) ** self.repetitions < SAFE_STEPS


def _is_ambiguous(part: PatternNode, times: int = 1) -> bool:
    """Whether something that is repeated often can itself match in several ways: then ways multiply."""
    if times >= _MANY and part.kind in ("repeat", "any_of"):
        return True
    if part.kind == "repeat":
        times *= _MANY if part.high is None else max(part.high, 1)
    return any(_is_ambiguous(inner, times) for inner in part.parts)


def _repetitions(part: PatternNode) -> int:
    is_long = part.kind == "repeat" and (part.high is None or part.high >= _MANY)
    return is_long + sum(map(_repetitions, part.parts))


_ASSERTIONS = {
    "begin": r"\A", "end": r"\Z", "begin_line": "(?m:^)", "end_line": "(?m:$)", "word": r"(?a:\b)",
    "not_word": r"(?a:\B)",
}  # fmt: skip


def _written(part: PatternNode) -> str:
    """Write a tree in Python's syntax."""
    match part.kind:
        case "chars":
            return _bracket(part.chars)
        case "assert":
            return _ASSERTIONS[part.assertion]
        case "any_of":
            return "(?:" + "|".join(map(_written, part.parts)) + ")"
        case "repeat":
            high = "" if part.high is None else str(part.high)
            return f"(?:{_written(part.parts[0])}){{{part.low},{high}}}" + "?" * part.is_lazy
    inner = "".join(map(_written, part.parts))
    return f"({inner})" if part.is_capture else f"(?:{inner})" if part.parts else ""


def _bracket(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    return "[" + "".join(_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in ranges) + "]"


def _char(code: int) -> str:
    return f"\\U{code:08x}"
