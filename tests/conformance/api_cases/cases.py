"""The table: what is asked of a Kubernetes API, by subject. `README.md` tells how a case is written."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Differs:
    """What we answer otherwise than the real server, and on purpose."""

    topic: str
    """The line of `docs/en/reference/differences.md` that tells users."""
    at: tuple[str, ...]
    """The places of the answers that are not compared, such as `2.body.message`; `*` stands for any one part."""


@dataclass(frozen=True)
class Case:
    subject: str
    name: str
    of: str = "v1/configmaps"
    """The resource that steps are about where they do not say another: `apps/v1/deployments`."""
    base: str = ""
    """The base object that new objects are made from; by default that of the resource."""
    kinds: tuple[str, ...] = ()
    """The custom kinds of `definitions.yaml` that it needs."""
    given: tuple[Step, ...] = ()
    """What is done before; the answers are not compared."""
    steps: tuple[Step, ...] = ()
    differs: tuple[Differs, ...] = field(default=())
    http: bool = False
    """Whether it is about HTTP alone."""

    @property
    def id(self) -> str:
        return f"{self.subject}: {self.name}"

    @property
    def needs_http(self) -> bool:
        """Tell whether it is about bytes, headers or media types, which the door without sockets does not have."""
        return self.http or any(BYTES & step.keys() for step in walk((*self.given, *self.steps)))

    @property
    def prefixes(self) -> list[str]:
        """The beginnings of names that the server makes up."""
        return GENERATED.findall(str(self.given + self.steps))


GENERATED = re.compile(r"'generateName': '([^']+)'")
BYTES = {"text", "type", "accept", "headers"}


def walk(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from walk(tuple(step.get("meanwhile", ())))


def subjects() -> list[str]:
    return sorted(path.stem for path in (HERE / "cases").glob("*.yaml"))


def load(subject: str) -> list[Case]:
    return [
        _case(subject, entry) for entry in yaml.load((HERE / "cases" / f"{subject}.yaml").read_text(), yaml.CSafeLoader)
    ]


def load_all() -> list[Case]:
    return [case for subject in subjects() for case in load(subject)]


def _case(subject: str, entry: dict[str, Any]) -> Case:
    more = {name: tuple(entry.pop(name, ())) for name in ("kinds", "given", "steps")}
    differs = tuple(Differs(one["topic"], tuple(one["at"])) for one in entry.pop("differs", ()))
    return Case(subject, differs=differs, **more, **entry)
