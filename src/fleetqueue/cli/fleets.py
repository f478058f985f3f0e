"""Which fleet a command means, and what a person can do with it."""

import os
from enum import StrEnum
from pathlib import Path

from fleetqueue.cli.exit_codes import Code, CommandFailure


class Engine(StrEnum):
    """What the clusters of a fleet are made of."""

    KUBERNETES = "kubernetes"
    EMBEDDED = "embedded"


class Scenario(StrEnum):
    MULTIKUEUE = "multikueue"
    NONE = "none"


class Ocm(StrEnum):
    """How much of Open Cluster Management runs."""

    FULL = "full"
    PLACEMENT = "placement"


BARE_LOOK = (
    "kubectl get nodes",
    "kubectl --context cluster1 create job hello --image=busybox",
    "kubectl --context cluster1 wait --for=condition=complete job/hello",
)


def folder(data_dir: Path | None) -> Path:
    """Return the folder of the fleet that a command means."""
    from fleetqueue.lab.state import LAB, default_data_dir

    return (data_dir or default_data_dir(LAB)).absolute()


def usable_folder(where: Path) -> Path:
    """Make the folder of a fleet that is to start; refuse one that holds other things, since `down` may delete it."""
    from fleetqueue.lab.folders import remember
    from fleetqueue.lab.state import refuse_foreign

    try:
        where.mkdir(parents=True, exist_ok=True, mode=0o700)
        why = "" if os.access(where, os.W_OK | os.X_OK) else "it may not be written"
    except FileExistsError:
        why = "it is a file"
    except OSError as error:
        why = str(error.strerror)
    if why:
        raise CommandFailure(
            f"{where} cannot be the folder of a fleet: {why}; choose another one with --data-dir", Code.USAGE
        )
    refuse_foreign(where)
    remember(where)
    return where


def how_to_go_on(data_dir: Path, *, is_detached: bool, is_bare: bool = False) -> str:
    """Say what a person can do with a fleet that is up."""
    import shlex

    from fleetqueue.lab.dashboard_socket import link
    from fleetqueue.lab.state import option

    chosen = option(data_dir)
    look = BARE_LOOK if is_bare else ("kubectl get managedclusters", "fleetqueue get clusters")
    dashboard = "" if is_bare else link(data_dir)
    end = f"fleetqueue down{chosen}" if is_detached else "press Ctrl-C"
    return "\n".join(
        [
            "",
            "The fleet is up. To use it:",
            f"  export KUBECONFIG={shlex.quote(str(data_dir / 'kubeconfig'))}",
            *(f"  {line}" for line in look),
            *([f"Its dashboard: {dashboard}"] if dashboard else []),
            "The contexts are hub, cluster1, ...; kind-hub, kind-cluster1, ... are other names for them.",
            f"To look at it: fleetqueue status{chosen}. To end it: {end}",
        ]
    )
