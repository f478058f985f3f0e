"""What users read about the scores of a cluster: pairs of reason and message."""

from datetime import datetime
from typing import Final

from fleetqueue.api import conditions

AGENT_SILENT: Final = "AgentSilent"
AGENT_HEARD: Final = "AgentHeard"


def published() -> tuple[str, str]:
    return "Published", "The score agent of the cluster measures and renews these scores"


def agent_silent(valid_until: datetime) -> tuple[str, str]:
    since = conditions.timestamp(valid_until)
    return AGENT_SILENT, (
        f"The score agent of the cluster did not renew its scores, which were valid until {since}; "
        "the lowest scores stand until it does"
    )


def never_scored() -> tuple[str, str]:
    return "NeverScored", ("No score agent has published scores of the cluster; the lowest scores stand until one does")


def agent_heard() -> tuple[str, str]:
    return AGENT_HEARD, "The score agent of the cluster publishes its scores"


def foreign(score: str) -> str:
    return (
        f"{score} was not made by fleetqueue, so its scores are left alone; "
        "if no other score add-on runs, delete it and ours takes its place"
    )
