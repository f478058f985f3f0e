"""What `fleetqueue get` prints about a hub."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from fleetqueue import clock
from fleetqueue.admin import inventory
from fleetqueue.admin.inventory import Row
from fleetqueue.admin.job_watching import job_changes
from fleetqueue.admin.table_text import TABLE, age, document, duration, heading, lines, widths, written
from fleetqueue.api.conditions import TRUE
from fleetqueue.api.errors import NotFound
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client

WIDE = "wide"
JOB_COLUMNS: Final = ("namespace", "job", "queue", "state", "position", "clusters", "waited", "ran", "why")
WIDE_JOB_COLUMNS: Final = (
    *("namespace", "job", "queue", "state", "position", "local_position", "clusters", "waited", "ran", "age"),
    *("members", "workload", "why"),
)
PLACEMENT_COLUMNS: Final = ("namespace", "name", "succeeded", "reason", "selected", "clusters")
VERDICT_COLUMNS: Final = ("namespace", "name", "cluster", "rule", "rank", "score", "scores", "why")
SHORT: Final = {
    "cpu": "cpuClusterAvailable",
    "memory": "memClusterAvailable",
    "gpu": "gpuClusterAvailable",
    "tpu": "tpuClusterAvailable",
}
"""The scores that fit into a table, by the heading of their column."""


async def clusters(hub: Client, output: str = TABLE, *, kueue_namespace: str = KUEUE_NAMESPACE) -> str:
    return cluster_text(await inventory.clusters(hub, kueue_namespace), output)


def cluster_text(clusters: Sequence[Row], output: str, *, endless: bool = False) -> str:
    rows = _aged(clusters, output)
    if output == TABLE:
        rows = [{**row, "connected": _connected(row), "credentials_until": _until(row)} for row in rows]
    columns = ("name", "accepted", "joined", "available", "connected", "set", "urls", "credentials_until", "age")
    table = written(rows, columns, output, empty="no clusters; bring one in with `fleetqueue join`", endless=endless)
    return "\n".join([table, *_draining(rows), *_left_out(rows), *_unread(rows)]) if output == TABLE else table


async def cluster_sets(hub: Client, output: str = TABLE, *, tree: bool = False) -> str:
    rows = await inventory.cluster_sets(hub)
    if tree:
        return inventory.set_tree(rows)
    return written(rows, ("name", "bound_namespaces", "status", "clusters"), output, empty="no cluster sets")


async def placements(hub: Client, output: str = TABLE, *, why: bool = False) -> str:
    """List the Placements; with `why`, what each of them makes of each cluster."""
    return placement_text(await placement_rows(hub, why=why), output, why=why)


async def placement_rows(hub: Client, *, why: bool) -> list[Row]:
    return await (inventory.placement_verdicts(hub) if why else inventory.placements(hub))


def placement_text(rows: Sequence[Row], output: str, *, why: bool, endless: bool = False) -> str:
    columns = VERDICT_COLUMNS if why else PLACEMENT_COLUMNS
    return written(rows, columns, output, empty="no placements", endless=endless)


async def jobs(hub: Client, output: str = TABLE, *, namespace: str = "", name: str = "") -> str:
    """List the jobs of one namespace, or of all; raises NotFound where a named one is not there."""
    rows = await inventory.jobs(hub, namespace, name)
    if name and not rows:
        raise NotFound(f'there is no job "{name}"{_in(namespace)}; `fleetqueue get jobs` shows those that are')
    return job_text(rows, output, empty=f"no jobs{_in(namespace)}")


async def watched_jobs(hub: Client, output: str = TABLE, *, namespace: str = "", name: str = "") -> AsyncIterator[str]:
    """List the jobs, then each that changes: a table that grows, or a JSON object or YAML document for each job."""
    layout: Sequence[int] = ()
    async for rows in job_changes(hub, namespace, name):
        if output not in (TABLE, WIDE):
            for row in rows:
                yield document(row, output)
            continue
        table = lines(_told(rows), _columns(output), at_least=layout)
        yield "\n".join(table[1:] if layout else table)
        layout = layout or widths(_told(rows), _columns(output))


def job_text(rows: Sequence[Row], output: str, *, empty: str = "") -> str:
    """Write jobs for people, in few columns or many, or for programs."""
    if output not in (TABLE, WIDE):
        return written(rows, (), output)
    return written(_told(rows), _columns(output), TABLE, empty=empty)


def _columns(output: str) -> Sequence[str]:
    return JOB_COLUMNS if output == TABLE else WIDE_JOB_COLUMNS


def _told(rows: Sequence[Row]) -> list[Row]:
    return [{**row, **_times(row)} for row in _aged(rows, TABLE)]


def _in(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""


def _times(row: Row) -> Row:
    return {name: duration(row[f"{name}_seconds"]) for name in ("waited", "ran")}


async def scores(hub: Client, output: str = TABLE) -> str:
    rows = await inventory.scores(hub)
    if output == TABLE:
        rows = [{**row, **{short: row["scores"].get(name) for short, name in SHORT.items()}} for row in rows]
    columns = ("cluster", "fresh", *SHORT, "valid_until")
    return written(rows, columns, output, empty="no scores; run `fleetqueue score-agent` on the workers")


def _connected(row: Row) -> list[str]:
    """Say whether Kueue is connected, and why not; a cluster may have one connection for each of several Placements."""
    if row["left_out"] and not row["connections"]:
        return ["- (left out)"]
    states = {
        c["connected"] if c["connected"] == TRUE or not c["reason"] else f"{c['connected']} ({c['reason']})"
        for c in row["connections"]
    }
    return sorted(states, reverse=True)


def _draining(rows: Sequence[Row]) -> list[str]:
    """Say which clusters serve no new jobs because somebody drains them."""
    drained = [row["name"] for row in rows if row["draining"]]
    return [f"note: {name} is drained; `fleetqueue undrain {name}` lets it serve again" for name in drained]


def _left_out(rows: Sequence[Row]) -> list[str]:
    """Say why clusters that a Placement selects get no connection."""
    return [
        f"note: {row['name']} is left out by AdmissionCheck {found['check']}: {found['reason']}"
        for row in rows
        for found in row["left_out"]
        if not row["connections"]
    ]


def _unread(rows: Sequence[Row]) -> list[str]:
    """Say which columns are empty because the user may not read what they show."""
    why = {column: reason for row in rows for column, reason in row["unread"].items()}
    return [f"note: {heading(column)} could not be read: {reason}" for column, reason in why.items()]


def _until(row: Row) -> str:
    """Say until when Kueue can reach a cluster; a token that the worker does not accept is good for nothing."""
    until = str(row["credentials_until"])
    return f"{until} (Unauthorized)".lstrip() if row["credentials_refused"] else until


def _aged(rows: Sequence[Row], output: str) -> list[Row]:
    """Tell people how old something is; programs get the time."""
    now = clock.now()
    return [{**row, "age": age(row["created"], now)} if output == TABLE else row for row in rows]
