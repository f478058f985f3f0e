"""Try every order of events of a model, breadth first: the first way to a mistake is a shortest one."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Model, Rules, State, in_ticks


@dataclass
class Exploration:
    states: int = 1
    trace: list[str] = field(default_factory=list)
    """The shortest way to two runs at once; empty where there is none."""
    situations: set[str] = field(default_factory=set)


def explore(
    rules: Rules,
    faults: Mapping[str, int],
    situations: Mapping[str, Callable[[State], bool]] | None = None,
    *,
    after: int = 0,
) -> Exploration:
    """Try every order of events, breadth first, until the job runs twice or nothing new is found.

    `after` is what the agent is first set to, where that is not the Lease's duration.
    """
    first, model, result = State(after=after or rules.duration), Model(rules, faults), Exploration()
    before: dict[State, tuple[State, str] | None] = {first: None}
    waiting = deque([first])
    with in_ticks(model.drift):
        while waiting:
            state = waiting.popleft()
            for name, is_it in (situations or {}).items():
                if name not in result.situations and is_it(state):
                    result.situations.add(name)
            for event, new in model.next(state):
                if new in before:
                    continue
                before[new] = (state, event)
                result.states += 1
                if new.runs_twice:
                    result.trace = path(before, new)
                    return result
                waiting.append(new)
    return result


def path(before: dict[State, Any], state: State) -> list[str]:
    events: list[str] = []
    while (last := before[state]) is not None:
        state, event = last
        events.append(event)
    return events[::-1]
