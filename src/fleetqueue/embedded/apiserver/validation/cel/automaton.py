"""Search with a pattern in time proportional to the text, whatever the pattern: states are sets of places in it.

Python's own engine is faster on harmless patterns and takes exponential time on others; this one never does.
"""

from bisect import bisect_right
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.char_ranges import Ranges
from fleetqueue.embedded.apiserver.validation.cel.re2_syntax import PatternNode

MAX_STATES = 2000
"""States kept for one pattern; beyond, they are forgotten and found again."""

_BEGIN, _AFTER_NEWLINE, _AFTER_WORD, _AFTER_OTHER = range(4)
_END = ""


class State(dict[str, "State"]):
    """Places in the pattern that may come next, what stood before, and where each character leads."""

    __slots__ = ("after", "is_match", "places")

    def __init__(self, places: frozenset[int], after: int, *, is_match: bool = False) -> None:
        super().__init__()
        self.places = places
        self.after = after
        self.is_match = is_match


class Automaton:
    def __init__(self, tree: PatternNode) -> None:
        self.steps: list[tuple[str, Any]] = []
        """chars, assert, split (two or more places) or match, with what belongs to it."""
        self.start = self._add(tree, self._emit("match", None))
        self.states: dict[tuple[frozenset[int], int], State] = {}
        self.matched = State(frozenset(), _AFTER_OTHER, is_match=True)

    def matches(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        state = self._state(frozenset((self.start,)), _BEGIN)
        for char in text:
            state = state.get(char) or self._next(state, char)
            if state.is_match:
                return True
        return (state.get(_END) or self._next(state, _END)).is_match

    def _emit(self, kind: str, content: Any) -> int:
        self.steps.append((kind, content))
        return len(self.steps) - 1

    def _add(self, part: PatternNode, after: int) -> int:
        """Add the steps of a part that goes on at `after`; returns where it starts."""
        match part.kind:
            case "chars":
                return self._emit("chars", (_bounds(part.chars), after))
            case "assert":
                return self._emit("assert", (part.assertion, after))
            case "any_of":
                return self._emit("split", tuple(self._add(inner, after) for inner in part.parts))
            case "repeat":
                return self._add_repeat(part, after)
        for inner in reversed(part.parts):
            after = self._add(inner, after)
        return after

    def _add_repeat(self, part: PatternNode, after: int) -> int:
        inner = part.parts[0]
        if part.high is None:
            loop = self._emit("split", ())
            self.steps[loop] = "split", (self._add(inner, loop), after)
            after = loop
        else:
            end = after
            for _ in range(part.high - part.low):
                after = self._emit("split", (self._add(inner, after), end))
        for _ in range(part.low):
            after = self._add(inner, after)
        return after

    def _state(self, places: frozenset[int], after: int) -> State:
        state = self.states.get((places, after))
        if state is None:
            if len(self.states) >= MAX_STATES:
                self.states.clear()
            state = self.states[places, after] = State(places, after)
        return state

    def _next(self, state: State, char: str) -> State:
        reached = self._closure(state, char)
        if any(self.steps[place][0] == "match" for place in reached):
            following = self.matched
        else:
            code = ord(char) if char else -1
            places = {self.start}
            for place in reached:
                bounds, after = self.steps[place][1]
                if bisect_right(bounds, code) % 2 == 1:
                    places.add(after)
            following = self._state(frozenset(places), _kind_of(char))
        state[char] = following
        return following

    def _closure(self, state: State, char: str) -> set[int]:
        """Follow all steps that take no character; returns the places that wait for one, or that match."""
        seen: set[int] = set()
        reached: set[int] = set()
        waiting = list(state.places)
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            kind, content = self.steps[place]
            if kind == "split":
                waiting.extend(content)
            elif kind == "assert":
                assertion, after = content
                if _holds(assertion, state.after, char):
                    waiting.append(after)
            else:
                reached.add(place)
        return reached


def _bounds(ranges: Ranges) -> list[int]:
    """Where runs of wanted characters start and end, so that a character is wanted behind an odd number of bounds."""
    return [bound for low, high in ranges for bound in (low, high + 1)]


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _kind_of(char: str) -> int:
    return _AFTER_NEWLINE if char == "\n" else _AFTER_WORD if _is_word(char) else _AFTER_OTHER


def _holds(assertion: str, after: int, char: str) -> bool:
    match assertion:
        case "begin":
            return after == _BEGIN
        case "end":
            return char == _END
        case "begin_line":
            return after in (_BEGIN, _AFTER_NEWLINE)
        case "end_line":
            return char in (_END, "\n")
    at_word_boundary = (after == _AFTER_WORD) != (char != _END and _is_word(char))
    return at_word_boundary == (assertion == "word")
