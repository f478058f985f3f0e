"""What several commands share: options, spelled once, and the cluster that they name."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from fleetqueue.cli.exit_codes import HUB_OPTIONS, NO_HUB, Code, CommandFailure, run

if TYPE_CHECKING:
    from fleetqueue.api.scheme import Manifest
    from fleetqueue.client import Client


Facts = TypeVar("Facts")


class OutputFormat(StrEnum):
    """How a listing is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class JobOutputFormat(StrEnum):
    """How jobs are printed, of which more is known than fits into a table."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def contexts_of(parameter: str) -> Callable[[typer.Context, str], list[str]]:
    """Return how a shell completes a context: from the kubeconfig that another option names, or the usual one."""

    def names(context: typer.Context, incomplete: str) -> list[str]:
        from fleetqueue.client.kubeconfig import KubeconfigError, context_names

        try:
            known = context_names(context.params.get(parameter))
        except KubeconfigError:
            return []
        return [name for name in known if name.startswith(incomplete)]

    return names


OTHERWISE = "otherwise $KUBECONFIG, ~/.kube/config, or the pod's own account."

Kubeconfig = Annotated[Path | None, typer.Option(help=f"The kubeconfig of the hub; {OTHERWISE}")]
WorkerKubeconfig = Annotated[Path | None, typer.Option(help=f"The kubeconfig of the worker; {OTHERWISE}")]
AdminKubeconfig = Annotated[Path | None, typer.Option(help=f"An administrator's kubeconfig of the worker; {OTHERWISE}")]
Context = Annotated[
    str,
    typer.Option(help="The context in it; otherwise its current one.", autocompletion=contexts_of("kubeconfig")),
]
HubKubeconfig = Annotated[Path | None, typer.Option(help=f"The kubeconfig of the hub; {OTHERWISE}")]
HubContext = Annotated[
    str,
    typer.Option(help="The context in that; otherwise its current one.", autocompletion=contexts_of("hub_kubeconfig")),
]
JobOutput = Annotated[JobOutputFormat, typer.Option("--output", "-o", help="How to print them.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Go on, and print it again whenever it changes.")]
Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="How to print it.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="The folder of the fleet; otherwise one in the user's state folder."),
]
KueueNamespace = Annotated[str, typer.Option(help="Where Kueue runs.")]
KueueConfigMapName = Annotated[
    str, typer.Option("--config-map", help="The ConfigMap with Kueue's configuration; otherwise it is found.")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A YAML file with settings.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, such as placement_admission.drain_timeout=600; may be given often."),
]


def above_zero(seconds: float) -> float:
    """Refuse a time in which nothing can be seen."""
    if not seconds > 0:  # also what is no number
        raise CommandFailure(f"--timeout is a number of seconds above 0, not {seconds:g}", Code.USAGE)
    return seconds


Timeout = Annotated[float, typer.Option(help="Seconds to wait at most; above 0.", callback=above_zero)]


JobQueue = Annotated[
    str, typer.Option("--queue", "-q", help="The LocalQueue of jobs in a file; otherwise what their label says.")
]
BUSY_SECONDS: Final = 30.0
"""How long a command waits for a server that wants to be asked later, as of a kind that nobody has listed before."""
JOBS_IN_FILE = "one job or several, as YAML or JSON; - is standard input"


def objects_in(file: Path) -> list["Manifest"]:
    """Read the objects of a file, or of standard input, whatever the locale is; raises what names the file."""
    from fleetqueue.admin.submitting import documents

    is_input = str(file) == "-"
    try:
        text = (sys.stdin.buffer.read() if is_input else file.read_bytes()).decode()
    except OSError as error:
        raise CommandFailure(f"cannot read {file}: {error.strerror}", Code.USAGE) from error
    except UnicodeDecodeError as error:
        raise CommandFailure(f"cannot read {file}: it is no text", Code.USAGE) from error
    return documents(text, "standard input" if is_input else str(file))


Opens = Callable[[Path | None, str], AbstractAsyncContextManager["Client"]]
"""How a cluster is opened by a kubeconfig and a context."""


@asynccontextmanager
async def opened(kubeconfig: Path | None, context: str) -> AsyncIterator["Client"]:
    """Open a cluster by its kubeconfig."""
    from fleetqueue.client.kubeconfig import load
    from fleetqueue.client.transport import connect

    client = connect(load(kubeconfig, context))
    client.patience = BUSY_SECONDS
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def opened_hub(kubeconfig: Path | None, context: str) -> AsyncIterator["Client"]:
    """Open the hub by its kubeconfig; raises CommandFailure for a worker."""
    async with opened(kubeconfig, context) as hub:
        await refuse_worker(hub)
        yield hub


async def refuse_worker(hub: "Client", options: str = HUB_OPTIONS, *, needs_clusters: bool = False) -> None:
    """Raise CommandFailure for a worker: it has Kueue as well, and would be taken for a hub where nothing is wrong.

    Where Kueue is alone, most commands have something to do; `needs_clusters` refuses that, too, before anything is
    written. A hub with Open Cluster Management is asked once. `options`: by which the user names the hub.
    """
    from fleetqueue.api.cluster_v1 import ManagedCluster
    from fleetqueue.api.errors import Forbidden

    try:
        if await hub.serves(ManagedCluster.resource):
            return
    except Forbidden:  # the command will find out what is there
        return
    from fleetqueue.admin.worker_signs import why_worker

    if why := await why_worker(hub):
        raise CommandFailure(
            f"this cluster is a worker, not the hub: {why}; name the hub with {options}", Code.NOT_FOUND
        )
    if needs_clusters:
        raise CommandFailure(f"{NO_HUB}; name the hub with {options}", Code.NOT_FOUND)


def show_each(
    kubeconfig: Path | None,
    context: str,
    command: Callable[["Client"], AsyncIterator[str]],
    *,
    opens: Opens = opened_hub,
) -> None:
    """Print what a command tells, piece by piece, for as long as it does: on a hub, unless another way `opens` it."""

    async def work() -> None:
        async with opens(kubeconfig, context) as cluster:
            async for text in command(cluster):
                print(text, flush=True)

    run(work())


def show_facts(
    kubeconfig: Path | None,
    context: str,
    look: Callable[["Client"], Awaitable[Facts]],
    write: Callable[[Facts], str],
    *,
    watch: bool,
    opens: Opens = opened_hub,
) -> None:
    """Print what is seen; who watches gets it again whenever it is not equal to what was printed."""
    from fleetqueue.admin.looking_again import looked_at

    async def told(hub: "Client") -> AsyncIterator[str]:
        async for facts in looked_at(lambda: look(hub), again=watch):
            yield write(facts)

    show_each(kubeconfig, context, told, opens=opens)


def show(kubeconfig: Path | None, context: str, command: Callable[["Client"], Awaitable[str]]) -> None:
    """Print what a command on a hub returns."""

    async def work() -> str:
        async with opened_hub(kubeconfig, context) as hub:
            return await command(hub)

    print(run(work()))
