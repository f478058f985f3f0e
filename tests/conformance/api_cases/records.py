"""What the real server answered: one file for each subject, one line for each case."""

from functools import cache
from typing import Any

import orjson

from tests.conformance.api_cases.cases import HERE, Case, load_all

Recorded = dict[str, list[dict[str, Any]]]
"""The answers of each case, by its name."""


@cache
def read(subject: str) -> Recorded:
    path = HERE / "recorded" / f"{subject}.json"
    found: Recorded = orjson.loads(path.read_bytes()) if path.exists() else {}
    return found


def write(subject: str, recorded: Recorded) -> None:
    lines = [
        orjson.dumps(name) + b":" + orjson.dumps(steps, option=orjson.OPT_SORT_KEYS) for name, steps in recorded.items()
    ]
    (HERE / "recorded" / f"{subject}.json").write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


def namespaces() -> dict[str, str]:
    """Return the namespace in which each case runs on a server that all share."""
    return {case.id: f"case-{number:04}" for number, case in enumerate(load_all())}


def of(case: Case) -> list[dict[str, Any]]:
    return read(case.subject).get(case.name, [])
