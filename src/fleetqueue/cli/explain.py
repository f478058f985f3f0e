"""`fleetqueue explain`: why something is as it is, and what to do."""

from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.options import Context, Kubeconfig, KueueNamespace, Output, OutputFormat, show

app = typer.Typer(
    no_args_is_help=True,
    help="""Say why a job, a queue, a Placement or a cluster is as it is: the one cause first, and what to do.

    Below it stand the objects on the way, the broken ones marked, and a row for each cluster: the rule that dropped
    it, or its scores. -o json has a stable code for every cause.

    \b
    Example:
      fleetqueue explain job train -n team-a
      fleetqueue explain placement gpu
    """,
)

Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace.")]
JobFile = Annotated[
    Path | None, typer.Option("--filename", "-f", help="A job that was not submitted yet; nothing is written.")
]


@app.command(short_help="Why a job waits, or how it ended.")
def job(
    name: Annotated[str, typer.Argument(help="The job, as its name or kind/name.")] = "",
    namespace: Namespace = "default",
    filename: JobFile = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say why a job waits, where it is, or how it ended; with -f, what a job would wait for that is not submitted yet.

    \b
    Example:
      fleetqueue explain job train -n team-a
      fleetqueue explain job pytorchjob/train -o json
      fleetqueue explain job -f job.yaml
    """
    from fleetqueue.admin import explain

    if bool(name) == (filename is not None):
        raise CommandFailure("name a job, or give a file with -f", Code.USAGE)
    if filename is not None:
        manifest = _read(filename)
        show(
            kubeconfig,
            context,
            lambda hub: explain.planned_job(hub, manifest, namespace, output.value, kueue_namespace=kueue_namespace),
        )
        return
    show(
        kubeconfig,
        context,
        lambda hub: explain.job(hub, name, namespace, output.value, kueue_namespace=kueue_namespace),
    )


@app.command(short_help="Why a Workload waits.")
def workload(
    name: Annotated[str, typer.Argument(help="The Workload.")],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say the same of a job by its Workload.

    \b
    Example:
      fleetqueue explain workload job-train-1a2b3 -n team-a
    """
    from fleetqueue.admin import explain

    show(
        kubeconfig,
        context,
        lambda hub: explain.workload(hub, name, namespace, output.value, kueue_namespace=kueue_namespace),
    )


@app.command(short_help="Whether jobs of a queue get quota and a cluster.")
def queue(
    name: Annotated[str, typer.Argument(help="The LocalQueue.")],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say what keeps the jobs of a LocalQueue from getting quota and a cluster.

    \b
    Example:
      fleetqueue explain queue gpu -n team-a
    """
    from fleetqueue.admin import explain

    show(
        kubeconfig,
        context,
        lambda hub: explain.queue(hub, name, namespace, output.value, kueue_namespace=kueue_namespace),
    )


@app.command(short_help="What a Placement chose, and why not the others.")
def placement(
    name: Annotated[str, typer.Argument(help="The Placement, in Kueue's namespace.")],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say of every cluster whether a Placement chose it, by which rule it was dropped, and which scores it has.

    \b
    Example:
      fleetqueue explain placement gpu
    """
    from fleetqueue.admin import explain

    show(kubeconfig, context, lambda hub: explain.placement(hub, name, output.value, kueue_namespace=kueue_namespace))


@app.command(short_help="Whether jobs are sent to a cluster, and why not.")
def cluster(
    name: Annotated[str, typer.Argument(help="The ManagedCluster.")],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say whether jobs are sent to a cluster: is it available, chosen by a Placement, and reached by Kueue?

    \b
    Example:
      fleetqueue explain cluster cluster1
    """
    from fleetqueue.admin import explain

    show(
        kubeconfig,
        context,
        lambda hub: explain.managed_cluster(hub, name, output.value, kueue_namespace=kueue_namespace),
    )


def _read(file: Path) -> dict[str, object]:
    import yaml

    try:
        documents = [one for one in yaml.safe_load_all(file.read_text()) if one]
    except (OSError, yaml.YAMLError) as error:
        raise CommandFailure(f"{file} cannot be read: {error}", Code.USAGE) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise CommandFailure(f"{file} has {len(documents)} objects; one job can be explained at a time", Code.USAGE)
    return documents[0]
