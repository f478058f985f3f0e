"""The command `fleetqueue`: every command named once."""

import sys
from io import TextIOWrapper
from typing import Annotated, TextIO

import typer

from fleetqueue import __version__
from fleetqueue.cli import clusterset, engine, explain, get, kubeconfig
from fleetqueue.cli.dashboard import dashboard
from fleetqueue.cli.demo import demo
from fleetqueue.cli.doctor import doctor
from fleetqueue.cli.drain import drain, undrain
from fleetqueue.cli.exit_codes import report, wants_traceback
from fleetqueue.cli.faults import cut, heal, pause, resume
from fleetqueue.cli.fleet_list import list_fleets
from fleetqueue.cli.install import install, uninstall
from fleetqueue.cli.join import join, unjoin
from fleetqueue.cli.local_fleet import down, restart, status, up
from fleetqueue.cli.logs import logs
from fleetqueue.cli.manifests import examples, manifests
from fleetqueue.cli.processes import controller, score_agent
from fleetqueue.cli.secret_reader import secret_reader
from fleetqueue.cli.submit import submit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help starts three times as fast
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)

# On this machine
app.command(short_help="Tell the three user stories on a hub and three workers.")(demo)
app.add_typer(engine.app, name="engine", short_help="Build the real engine: etcd, Kubernetes, Kueue, OCM.")
app.command(short_help="Start a fleet on this machine.")(up)
app.command("list", short_help="List the fleets on this machine.")(list_fleets)
app.command(short_help="Show the processes of the fleet.")(status)
app.command(short_help="End the fleet.")(down)
app.add_typer(kubeconfig.app, name="kubeconfig", short_help="Print a kubeconfig of it, or make one for MultiKueue.")
app.command(short_help="Restart a process.")(restart)
app.command(short_help="Make a worker unreachable.")(cut)
app.command(short_help="Make it reachable again.")(heal)
app.command(short_help="Freeze a process.")(pause)
app.command(short_help="Let it go on.")(resume)
# On a hub
app.command(short_help="Submit jobs, and follow them.")(submit)
app.command(short_help="Print the logs of a job, or of a part of a fleet here.")(logs)
app.command(short_help="Bring a worker into the fleet.")(join)
app.command(short_help="Let a worker go.")(unjoin)
app.command(short_help="Let a worker serve no new jobs.")(drain)
app.command(short_help="Let it serve again.")(undrain)
app.add_typer(clusterset.app, name="clusterset", short_help="Make cluster sets and bind them.")
app.add_typer(get.app, name="get", short_help="Show clusters, sets, placements, scores, jobs.")
app.add_typer(explain.app, name="explain", short_help="Say why a job waits, and what to do.")
app.command(short_help="Look for what is wrong, and say what mends it.")(doctor)
app.command(short_help="Show the hub on one live page.")(dashboard)
# In production
app.command(short_help="Print what is installed, or write the chart.")(manifests)
app.command(short_help="Print the examples of the documentation.")(examples)
app.command(short_help="Make a hub ready: Kueue leaves dispatching to us.")(install)
app.command(short_help="Take it away again while jobs run.")(uninstall)
app.command(short_help="Run on the hub: the controller.")(controller)
app.command(short_help="Run on a worker: the score agent.")(score_agent)
app.command(hidden=True)(secret_reader)


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"fleetqueue {__version__}")
        raise typer.Exit


@app.callback()
def fleetqueue(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Send each batch job to the right cluster of a fleet.

    OCM placements choose the clusters, Kueue queues the jobs, MultiKueue dispatches them; fleetqueue joins the three.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or not in time, 4 doctor
    found errors, 5 doctor found warnings only, 130 interrupted.

    \b
    Example:
      fleetqueue demo                                # the stories, in half a minute
      fleetqueue up --scenario multikueue --detach   # a hub and three workers
      export KUBECONFIG=$(fleetqueue kubeconfig --path)
      fleetqueue get jobs                            # how far jobs are, and why
    """


def write_everywhere(stream: TextIO) -> None:
    """Let a terminal that has only ASCII show other signs by their numbers, as Python does it for errors."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def program(path: str) -> str:
    """Return how people call us: kubectl finds its plugins by their names."""
    return "kubectl fleetqueue" if path.endswith("kubectl-fleetqueue") else "fleetqueue"


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    write_everywhere(sys.stdout)
    try:
        app(prog_name=program(sys.argv[0]))
    except (Exception, KeyboardInterrupt) as error:
        if wants_traceback():
            raise
        sys.exit(report(error))
