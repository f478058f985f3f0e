"""One job opened up: its state, what it waits for, and all that its Workload says. No I/O."""

from fleetqueue.admin import explanations
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.job_names import job_name
from fleetqueue.api.quantity import text
from fleetqueue.dashboard.job_rows import state_of
from fleetqueue.dashboard.kinds import DatedWorkload
from fleetqueue.dashboard.rows import Row, seconds


def job_detail(workload: DatedWorkload, hub_state: HubState) -> Row:
    """Return what `fleetqueue explain` says of a job, and the facts of its Workload."""
    explanation = explanations.of_workload(workload, hub_state, job_name(workload))
    return {
        "job": explanation.about,
        "namespace": workload.namespace,
        "workload": workload.name,
        "state": state_of(workload),
        "cause": explanation.cause.code,
        "reason": explanation.cause.sentence,
        "next": explanation.cause.step,
        "chain": [link.row() for link in explanation.chain],
        "clusters": [cluster_row(row) for row in explanation.clusters],
        **facts(workload),
    }


def cluster_row(row: Row) -> Row:
    """Say of a cluster by which rule the Placement has chosen or dropped it, and what is known of the way there."""
    rank = f"{row['rank']}: " if row["rank"] else ""
    more = [
        *row["scores"],
        "draining" if row["draining"] else "",
        row["connected"] and f"connected: {row['connected']}",
    ]
    reason = row["dispatcher"] or row["why"]
    return {
        "name": row["cluster"],
        "answer": f"{rank}{row['rule']}",
        "reason": "; ".join(part for part in (reason, *more) if part),
    }


def facts(workload: DatedWorkload) -> Row:
    """Return what the Workload itself says."""
    return {
        "queue": workload.spec.queue_name,
        "priority": workload.spec.priority,
        "active": workload.spec.active,
        "created": seconds(workload.metadata.creation_timestamp),
        "requests": {name: text(amount) for name, amount in workload.asked_for.items()},
        "evictions": sum(int(entry.get("count") or 0) for entry in workload.status.scheduling_stats.evictions),
        "checks": [
            {"name": check.name, "state": check.state, "message": check.message}
            for check in workload.status.admission_checks
        ],
        "conditions": [
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "since": seconds(condition.last_transition_time),
            }
            for condition in workload.status.conditions
        ],
    }
