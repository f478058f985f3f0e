"""`fleetqueue explain`: why something is as it is, and what to do."""

import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.options import (
    JOBS_IN_FILE,
    Context,
    JobQueue,
    Kubeconfig,
    KueueNamespace,
    Opens,
    Output,
    OutputFormat,
    Watch,
    objects_in,
    opened,
    opened_hub,
    show_facts,
)

if TYPE_CHECKING:
    from fleetqueue.admin.explanations import Explanation
    from fleetqueue.client import Client


OTHER_KINDS: Final = {
    **dict.fromkeys(
        ("queue", "queues", "localqueue", "localqueues", "lq", "clusterqueue", "clusterqueues", "cq"), "queue"
    ),
    **dict.fromkeys(("cluster", "managedcluster", "managedclusters", "mcl", "mcls"), "cluster"),
    **dict.fromkeys(("placement", "placements"), "placement"),
    **dict.fromkeys(("workload", "workloads", "kwl"), "workload"),
}
"""Which command explains what is no job, by how its kind may be written."""


def in_words(written: str) -> list[str]:
    """Return the words that are meant by `kind/name`, which kubectl takes in place of two: a job keeps its kind."""
    kind, slash, name = written.partition("/")
    if not slash:
        return [written]
    command = OTHER_KINDS.get(kind.lower().partition(".")[0])
    return [command, name] if command else ["job", written]


class Explanations(TyperGroup):
    """The commands of explain; `explain job/train` means `explain job job/train`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [*in_words(args[0]), *args[1:]] if args else args)


def plain(name: str) -> str:
    """Return a name without the kind before it, as `kubectl get -o name` writes it."""
    return name.rpartition("/")[2]


app = typer.Typer(
    cls=Explanations,
    no_args_is_help=True,
    help="""Say why a job, a queue, a Placement or a cluster is as it is: the one cause first, and what to do.

    Below it stand the objects on the way, the broken ones marked, and a row for each cluster: the rule that dropped
    it, or its scores. -o json has a stable code for every cause. With -w, all is printed again whenever it changes.

    \b
    Example:
      fleetqueue explain job train -n team-a
      fleetqueue explain job.batch/train -n team-a  # as kubectl prints it
      fleetqueue explain placement gpu
    """,
)

Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace.")]
JobFile = Annotated[
    Path | None,
    typer.Option("--filename", "-f", help=f"A file with {JOBS_IN_FILE}; nothing is submitted."),
]


@app.command(short_help="Why a job waits, or how it ended.")
def job(
    name: Annotated[
        str, typer.Argument(help="The job, as its name or kind/name, such as train or job.batch/train.")
    ] = "",
    namespace: Namespace = "default",
    filename: JobFile = None,
    queue: JobQueue = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say why a job waits, where it is, or how it ended; with -f, what a job would wait for that is not submitted yet.

    \b
    Example:
      fleetqueue explain job train -n team-a
      fleetqueue explain job pytorchjob/train -o json
      fleetqueue explain job -f job.yaml -q user-queue
      fleetqueue examples job-demo1 | fleetqueue explain job -f -
    """
    from fleetqueue.admin import explain
    from fleetqueue.admin.submitting import with_queue

    if bool(name) == (filename is not None):
        raise CommandFailure("name a job, or give a file with -f", Code.USAGE)
    if queue and filename is None:
        raise CommandFailure("--queue is for jobs that are not submitted yet: give their file with -f", Code.USAGE)
    if filename is not None:
        planned = [with_queue(one, queue) for one in objects_in(filename)]
        _show(
            kubeconfig,
            context,
            output,
            *(
                lambda hub, one=one: explain.planned_job(hub, one, namespace, kueue_namespace=kueue_namespace)
                for one in planned
            ),
            watch=watch,
        )
        return
    _show(
        kubeconfig,
        context,
        output,
        lambda hub: explain.job(hub, name, namespace, kueue_namespace=kueue_namespace),
        watch=watch,
    )


@app.command(short_help="Why a Workload waits.")
def workload(
    name: Annotated[str, typer.Argument(help="The Workload.", callback=plain)],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say the same of a job by its Workload, also of a copy on a worker.

    \b
    Example:
      fleetqueue explain workload job-train-1a2b3 -n team-a
    """
    from fleetqueue.admin import explain

    _show(
        kubeconfig,
        context,
        output,
        lambda cluster: explain.workload(cluster, name, namespace, kueue_namespace=kueue_namespace),
        watch=watch,
        opens=opened,
    )


@app.command(short_help="Whether jobs of a queue get quota and a cluster.")
def queue(
    name: Annotated[str, typer.Argument(help="The LocalQueue.", callback=plain)],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say what keeps the jobs of a LocalQueue from getting quota and a cluster.

    \b
    Example:
      fleetqueue explain queue gpu -n team-a
    """
    from fleetqueue.admin import explain

    _show(
        kubeconfig,
        context,
        output,
        lambda hub: explain.queue(hub, name, namespace, kueue_namespace=kueue_namespace),
        watch=watch,
    )


@app.command(short_help="What a Placement chose, and why not the others.")
def placement(
    name: Annotated[str, typer.Argument(help="The Placement, in Kueue's namespace.", callback=plain)],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say of every cluster whether a Placement chose it, by which rule it was dropped, and which scores it has.

    \b
    Example:
      fleetqueue explain placement gpu
    """
    from fleetqueue.admin import explain

    _show(
        kubeconfig,
        context,
        output,
        lambda hub: explain.placement(hub, name, kueue_namespace=kueue_namespace),
        watch=watch,
    )


@app.command(short_help="Whether jobs are sent to a cluster, and why not.")
def cluster(
    name: Annotated[str, typer.Argument(help="The ManagedCluster.", callback=plain)],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    watch: Watch = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say whether jobs are sent to a cluster: is it available, chosen by a Placement, and reached by Kueue?

    \b
    Example:
      fleetqueue explain cluster cluster1
    """
    from fleetqueue.admin import explain

    _show(
        kubeconfig,
        context,
        output,
        lambda hub: explain.managed_cluster(hub, name, kueue_namespace=kueue_namespace),
        watch=watch,
    )


def _show(
    kubeconfig: Path | None,
    context: str,
    output: OutputFormat,
    *explained: Callable[["Client"], Awaitable["Explanation"]],
    watch: bool,
    opens: Opens = opened_hub,
) -> None:
    """Print explanations, on a terminal within its width."""
    from fleetqueue.admin.explanation_text import as_text
    from fleetqueue.admin.own_contexts import OwnContexts, completed
    from fleetqueue.client.kubeconfig import contexts
    from fleetqueue.client.transport import connect

    own = OwnContexts(lambda: contexts(kubeconfig), connect)

    async def look(hub: "Client") -> list["Explanation"]:
        return [await completed(await one(hub), hub, own) for one in explained]

    def write(explanations: list["Explanation"]) -> str:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        return as_text(explanations, output.value, width, endless=watch)

    show_facts(kubeconfig, context, look, write, watch=watch, opens=opens)
