"""A rule that is made wrong, and what is mostly put in the place of one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.embedded.kueue import workload_lifecycle


@dataclass(frozen=True)
class Mutation:
    rule: str
    """What is not so any more."""
    of: Any
    """The module or class that has the rule."""
    name: str
    instead: Any
    noticed: tuple[str, ...]
    """Patterns of the names of the scenarios that are about it."""


def by_chance(*seeds: int) -> tuple[str, ...]:
    """Name scenarios that chance wrote."""
    return tuple(f"by chance {seed}" for seed in seeds)


def always(value: Any) -> Any:
    """Return a function that says the same of everything."""
    return lambda *args, **more: value


def first(*args: Any, **more: Any) -> Any:
    """Return what a function is given first."""
    return args[0]


def unchanged(*args: Any, **more: Any) -> Any:
    """Return what a method of an object is given first."""
    return args[1]


async def nothing(*args: Any, **more: Any) -> None:
    """Leave out what a method does."""


async def kept_job(self: Any, job: Any, *args: Any) -> Any:
    """Leave a job as it is."""
    return job


async def kept_workload(self: Any, job: Any, workload: Any, *args: Any) -> Any:
    """Leave a Workload as it is."""
    return workload


def without_step(rule: str, step: str, noticed: Iterable[str]) -> Mutation:
    """Leave out one step of the life of a Workload."""
    steps = tuple(each for each in workload_lifecycle.RULES if each.__name__ != step)
    assert len(steps) < len(workload_lifecycle.RULES), f"there is no step {step}"
    return Mutation(rule, workload_lifecycle, "RULES", steps, tuple(noticed))
