"""`fleetqueue logs`: what the pods of a job said, or a part of a fleet on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import run
from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import Context, DataDir, Kubeconfig, opened_hub
from fleetqueue.cli.part_logs import is_part, print_part

if TYPE_CHECKING:
    from fleetqueue.admin.job_location import JobLocation
    from fleetqueue.admin.job_logs import PodLine
    from fleetqueue.client.kubeconfig import Connection


def logs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[JOB]",
            help="A job, such as train or Job/train. A name like hub/kueue, or that of a cluster of the fleet on this "
            "machine, means the same as with --part.",
        ),
    ] = "",
    part: Annotated[
        str,
        typer.Option(
            help="A process as `status` names it, such as hub/kueue; or `supervisor`, which starts and ends the fleet. "
            "Of embedded clusters: a cluster, or a part of it by how its pods' names begin."
        ),
    ] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="The namespace of the job; otherwise the context's.")
    ] = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is said from now on; of a job, until it ends.")
    ] = False,
    container: Annotated[
        str, typer.Option("--container", "-c", help="The container; otherwise each pod's first.")
    ] = "",
    tail: Annotated[int, typer.Option(help="Only the last lines; 0 means all.", min=0)] = 0,
    worker_context: Annotated[
        str, typer.Option(help="Your context for the worker; otherwise one of your kubeconfig that leads there.")
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    data_dir: DataDir = None,
) -> None:
    """Print what the pods of a job said, on the worker that has them, or what one part of a fleet here said.

    Each line has its pod before it. The pods are read with your own context for the worker: one with its address, or
    one of its name that opens the same cluster. Where there is none, the command says whom to ask. MultiKueue removes
    the pods of a job that has ended.

    \b
    Example:
      fleetqueue logs train -n team-a -f
      fleetqueue logs Job/train -n team-a --worker-context cluster1 --tail 20
      fleetqueue logs --part hub/kueue -f
    """
    where = folder(data_dir)
    if part or is_part(where, name):
        print_part(where, part or name, follow=follow, tail=tail)
        return
    location = run(found(kubeconfig, context, namespace, name, follow=follow))
    worker = run(worker_of(location, kubeconfig, context, worker_context))
    print_job(location, worker, container, follow=follow, tail=tail)


async def found(kubeconfig: Path | None, context: str, namespace: str, name: str, *, follow: bool) -> "JobLocation":
    """Find the worker of a job; who follows one that waits waits with it."""
    from fleetqueue.admin.job_location import locate, locate_once_sent
    from fleetqueue.client.kubeconfig import load

    where = namespace or load(kubeconfig, context).namespace
    async with opened_hub(kubeconfig, context) as hub:
        if not follow:
            return await locate(hub, where, name)
        return await locate_once_sent(hub, where, name, lambda line: print(line, file=sys.stderr, flush=True))


async def worker_of(
    location: "JobLocation", kubeconfig: Path | None, context: str, worker_context: str
) -> "Connection":
    """Return the user's own way to the worker of a job."""
    from fleetqueue.admin import worker_contexts
    from fleetqueue.client.kubeconfig import contexts, load
    from fleetqueue.client.transport import connect

    if worker_context:
        named = load(kubeconfig, worker_context)
        await worker_contexts.check(location, named, connect)
        return named
    if not location.cluster:
        return load(kubeconfig, context)
    return await worker_contexts.found(location, contexts(kubeconfig), connect)


def print_job(location: "JobLocation", worker: "Connection", container: str, *, follow: bool, tail: int) -> None:
    from fleetqueue.admin.job_location import NoPods
    from fleetqueue.admin.job_logs import JobLogs
    from fleetqueue.client.transport import connect

    async def work() -> None:
        client = connect(worker)
        pods = set()
        try:
            async for line in JobLogs(client, location, container, tail or None).lines(follow=follow):
                pods.add(line.pod)
                print_line(line)
        finally:
            await client.close()
        if not pods:
            raise NoPods(location.without_pods)

    run(work())


def print_line(line: "PodLine") -> None:
    """Print a line with the pod that said it; what is no line of a log goes where errors go."""
    print(f"{line.pod}  {line.text}", file=sys.stderr if line.is_note else sys.stdout, flush=True)
