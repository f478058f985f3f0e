"""A command line as kubectl reads it: a verb, words, and flags anywhere between them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.demo.own_kubectl.problems import KubectlProblem

SHORT: Final = {
    "-A": "--all-namespaces",
    "-f": "--filename",
    "-l": "--selector",
    "-n": "--namespace",
    "-o": "--output",
    "-p": "--patch",
}
WITH_VALUE: Final = frozenset(
    "--cascade --context --field-selector --filename --for --grace-period --namespace --output --patch --replicas"
    " --selector --subresource --timeout --type --verbs".split()
)
SWITCHES: Final = frozenset(
    "--all --all-namespaces --force --ignore-not-found --no-headers --overwrite --wait --show-managed-fields".split()
)
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(?:[0-9.]+(?:ms|s|m|h))+")


@dataclass(frozen=True, slots=True)
class Line:
    verb: str
    words: Sequence[str] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    """From the long names to what was given; a switch has `true` or `false`."""

    def flag(self, name: str, default: str = "") -> str:
        return self.flags.get(name, default)

    def is_on(self, name: str, *, default: bool = False) -> bool:
        return self.flags.get(name, str(default)).lower() == "true"

    def seconds(self, name: str) -> float:
        """Return a duration such as `60s`; 0 where it is not given."""
        given = self.flag(name, "0s")
        if not _DURATION.fullmatch(given):
            raise KubectlProblem(
                f'error: invalid argument "{given}" for "{name}" flag: time: invalid duration "{given}"'
            )
        return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([0-9.]+)(ms|s|m|h)", given))

    @property
    def namespace(self) -> str:
        return self.flag("--namespace", "default")


def read(arguments: Sequence[str]) -> Line:
    """Read a command line; raises KubectlProblem."""
    words: list[str] = []
    flags: dict[str, str] = {}
    coming = iter(arguments)
    for word in coming:
        if word == "-" or not word.startswith("-"):
            words.append(word)
            continue
        try:
            name, value = _flag(word, coming)
        except KubectlProblem as problem:
            verb = f" {words[0]}" if words else ""
            raise KubectlProblem(f"{problem}\nSee 'kubectl{verb} --help' for usage.") from None
        flags[name] = value
    if not words:
        raise KubectlProblem("error: a command is missing")
    return Line(words[0], tuple(words[1:]), flags)


def _flag(word: str, coming: Iterator[str]) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    name = SHORT.get(name, name)
    if name in SWITCHES:
        return name, value or "true"
    if name not in WITH_VALUE:
        raise KubectlProblem(f"error: unknown flag: {name}")
    if equals:
        return name, value
    try:
        return name, next(coming)
    except StopIteration:
        flag = name if word == name else f"'{word[1:]}' in {word}"
        raise KubectlProblem(f"error: flag needs an argument: {flag}") from None
