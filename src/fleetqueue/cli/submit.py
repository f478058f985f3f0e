"""`fleetqueue submit`: send jobs to a queue, and follow them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from fleetqueue.cli.exit_codes import CommandFailure, run
from fleetqueue.cli.options import (
    JOBS_IN_FILE,
    Context,
    JobQueue,
    Kubeconfig,
    Output,
    OutputFormat,
    objects_in,
    opened_hub,
)
from fleetqueue.cli.phase_lines import PhaseLines

if TYPE_CHECKING:
    from fleetqueue.admin.submitting import Submission
    from fleetqueue.api.scheme import Manifest
    from fleetqueue.client import Client


def submit(
    file: Annotated[Path, typer.Option("--filename", "-f", help=f"A file with {JOBS_IN_FILE}.")],
    queue: JobQueue = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Where jobs go that do not say it; otherwise the context's.")
    ] = "",
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Tell how far the jobs are until all have ended; also of one that is there."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done; the server tries it.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Submit jobs of any kind that Kueue on the hub queues, and tell how far they are with --follow.

    Nothing is created unless all are accepted: a kind that is not served or that Kueue does not manage, a job without
    a queue and a queue that is not there are refused. With --follow, the exit code is 0 where all jobs have succeeded
    and 1 where one has failed; Ctrl-C ends only the telling. With -o json, each phase is one line of JSON.

    \b
    Example:
      fleetqueue submit -f job.yaml --queue user-queue --follow
      fleetqueue examples job-demo1 | fleetqueue submit -f - --dry-run
    """
    documents = objects_in(file)
    wanted = Wanted(queue, namespace, default_namespace(kubeconfig, context))
    submitted: list[Submission] = []

    async def work() -> bool:
        async with opened_hub(kubeconfig, context) as hub:
            prepared = await prepare(hub, documents, wanted)
            if dry_run or not follow:
                submitted.extend(prepared if dry_run else await create(hub, prepared))
                report(submitted, output, dry_run=dry_run)
                return True
            return await create_and_follow(hub, prepared, submitted, output)

    try:
        has_succeeded = run(work())
    except KeyboardInterrupt:
        for line in how_to_follow(submitted):
            print(line, file=sys.stderr)
        raise
    if not has_succeeded:
        raise CommandFailure("not every job has succeeded")


class Wanted(NamedTuple):
    """Where jobs shall go; empty where they say it themselves."""

    queue: str
    namespace: str
    default_namespace: str


def default_namespace(kubeconfig: Path | None, context: str) -> str:
    from fleetqueue.client.kubeconfig import load

    return load(kubeconfig, context).namespace


async def prepare(hub: "Client", documents: Sequence["Manifest"], wanted: Wanted) -> list["Submission"]:
    from fleetqueue.admin import submitting

    return await submitting.prepare(hub, [submitting.placed(one, **wanted._asdict()) for one in documents])


async def create(hub: "Client", prepared: Sequence["Submission"]) -> list["Submission"]:
    from fleetqueue.admin.submitting import submit

    return [await submit(hub, one) for one in prepared]


def report(submitted: Sequence["Submission"], output: OutputFormat, *, dry_run: bool = False) -> None:
    """Print what was created; raises CommandFailure where a job was there already."""
    from fleetqueue.admin.table_text import written

    if output is OutputFormat.TABLE:
        for one in submitted:
            print(said_of(one, dry_run=dry_run))
    else:
        print(written([{**one.row, "dry_run": dry_run} for one in submitted], (), output.value))
    if existing := [one.job for one in submitted if not one.is_new]:
        raise CommandFailure(f"{', '.join(existing)}: there already, and not changed; --follow follows it")


def said_of(one: "Submission", *, dry_run: bool = False) -> str:
    how = ("would be submitted" if dry_run else "is submitted") if one.is_new else "is there already"
    return f"{one.job} {how} in namespace {one.namespace}, queue {one.queue or '-'}"


async def create_and_follow(
    hub: "Client", prepared: Sequence["Submission"], submitted: list["Submission"], output: OutputFormat
) -> bool:
    """Create jobs and print their phases; tell whether all have succeeded. `submitted` gets what was created."""
    from fleetqueue.admin.job_phases import SUCCEEDED
    from fleetqueue.admin.job_watching import follower

    ends = []
    async with follower(hub, {one.namespace for one in prepared}) as following:
        submitted += await create(hub, prepared)
        if output is OutputFormat.TABLE:
            print(*map(said_of, submitted), sep="\n", flush=True)
        with PhaseLines(sys.stdout, output, is_single=len(submitted) == 1) as lines:
            async for phase in following.phases(submitted):
                lines.show(phase)
                ends += [phase.phase] if phase.is_last else []
    return all(end == SUCCEEDED for end in ends)


def how_to_follow(submitted: Sequence["Submission"]) -> list[str]:
    """Say after Ctrl-C that jobs go on, and how to follow them again."""
    commands = [f"  fleetqueue get jobs {one.job} -n {one.namespace} -w" for one in submitted]
    return ["what was submitted goes on; to follow it again:", *dict.fromkeys(commands)] if commands else []
