"""Run what a command asks for, and turn what goes wrong into one line and an exit code."""

import os
import sys
from collections.abc import Coroutine
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from fleetqueue.api.errors import NotFound, Unreachable

T = TypeVar("T")

DEBUG: Final = "FLEETQUEUE_DEBUG"
"""The environment variable that has the effect of `--debug`: errors come with their traceback."""


NO_PAGE: Final = "404 page not found"
"""What an API server answers where it does not know the kind that is asked for."""
HUB_OPTIONS: Final = "--kubeconfig or --context"
"""By which options the hub is named, where a command has no others for that."""
NO_HUB: Final = (
    "this cluster is no hub: it lacks kinds of Kueue or of Open Cluster Management, and so has no clusters or checks"
)


LISTED_BY: Final = {
    "localqueues": "kubectl get localqueues --all-namespaces",
    "managedclusters": "fleetqueue get clusters",
    "managedclustersets": "fleetqueue get clustersets",
    "namespaces": "kubectl get namespaces",
    "placements": "fleetqueue get placements",
    "workloads": "kubectl get workloads --all-namespaces",
}
"""What shows those that are there, where one is not."""
NO_CONNECTION: Final = "is the cluster up, and does the kubeconfig name it?"
WRONG_CERTIFICATES: Final = "do the certificates of the kubeconfig belong to this cluster?"
UNREADABLE_CERTIFICATE: Final = "get this kubeconfig anew from whoever runs the cluster"


class Code(IntEnum):
    """What the process tells its caller."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    ERRORS_FOUND = 4
    WARNINGS_FOUND = 5
    INTERRUPTED = 130


MEANINGS: Final = {
    Code.DONE: "done",
    Code.FAILED: "failed",
    Code.USAGE: "wrong usage",
    Code.NOT_FOUND: "not found or not in time",
    Code.ERRORS_FOUND: "doctor found errors",
    Code.WARNINGS_FOUND: "doctor found warnings only",
    Code.INTERRUPTED: "interrupted",
}
"""Scripts rely on them: a code keeps its meaning. `--help` and the reference of the commands list them."""


class CommandFailure(Exception):
    """A command cannot do what was asked; the text is for the user."""

    def __init__(self, message: str, code: Code = Code.FAILED) -> None:
        super().__init__(message)
        self.code = code


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the asynchronous half of a command."""
    import asyncio  # a third of the time that `--help` takes

    return asyncio.run(work)


def report(error: BaseException) -> int:
    """Print an error as one line; return the exit code."""
    if isinstance(error, BaseExceptionGroup):
        return report(error.exceptions[0])
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return Code.INTERRUPTED
    message, code = explain(error)
    print(f"error: {message}", file=sys.stderr)
    return code


def explain(error: BaseException) -> tuple[str, Code]:
    """Return what to tell the user about an error, and the exit code."""
    from fleetqueue.admin.dispatcher import NoKueueConfig
    from fleetqueue.admin.job_location import NoPods
    from fleetqueue.admin.submitting import CannotSubmit
    from fleetqueue.admin.waiting import NotInTime
    from fleetqueue.api import errors
    from fleetqueue.client.kubeconfig import KubeconfigError, KubeconfigNotFound
    from fleetqueue.controllers.processes.settings_file import SettingsError
    from fleetqueue.lab.errors import NoFleet, NoProcess

    if isinstance(error, CommandFailure):
        return str(error), error.code
    if isinstance(error, errors.NotFound):
        return _not_there(error), Code.NOT_FOUND
    if isinstance(error, KubeconfigNotFound | NoFleet | NoKueueConfig | NoPods | NoProcess):
        return str(error), Code.NOT_FOUND
    if isinstance(error, NotInTime | TimeoutError):
        return str(error) or "it took too long", Code.NOT_FOUND
    if isinstance(error, CannotSubmit | KubeconfigError | SettingsError):
        return str(error), Code.USAGE
    if isinstance(error, errors.Unreachable):
        return f"{error}; {_way_in(error)}", Code.FAILED
    if isinstance(error, errors.Unauthorized):
        return f"{error}; the token or certificate of the kubeconfig is not accepted: has it expired?", Code.FAILED
    if isinstance(error, errors.Forbidden) and not error.is_from_webhook:
        return f"{error}; use a kubeconfig with more rights", Code.FAILED
    if isinstance(error, _spoken()):
        return str(error), Code.FAILED
    return f"{type(error).__name__}: {error}; run it again with --debug for the details", Code.FAILED


def _not_there(error: "NotFound") -> str:
    """Say what is not there, and what shows those that are."""
    if str(error) == NO_PAGE:
        return f"{NO_HUB}; name the hub with {HUB_OPTIONS}"
    listing = LISTED_BY.get(error.details.get("kind", ""))
    return f"{error}; `{listing}` shows those that are" if listing else str(error)


def _way_in(error: "Unreachable") -> str:
    """Say what to look at where a cluster could not be asked: its certificates, or the way to it."""
    import ssl

    from fleetqueue.client.transport import UnreadableCertificate

    if isinstance(error.__cause__, UnreadableCertificate):
        return UNREADABLE_CERTIFICATE
    return WRONG_CERTIFICATES if isinstance(error.__cause__, ssl.SSLError) else NO_CONNECTION


def wants_traceback() -> bool:
    return bool(os.environ.get(DEBUG)) or "--debug" in sys.argv


def _spoken() -> tuple[type[Exception], ...]:
    """Return our errors whose text is written for users."""
    from fleetqueue.admin.cluster_draining import WouldDropMore
    from fleetqueue.admin.cluster_sets import ChosenByLabels
    from fleetqueue.admin.portable_kubeconfig import CannotJoin
    from fleetqueue.admin.waiting import NoAnswer
    from fleetqueue.api.errors import ApiError
    from fleetqueue.controllers.credentials.problems import CredentialProblem
    from fleetqueue.controllers.processes.capabilities import NotInstalled
    from fleetqueue.controllers.processes.probes import ProbesCannotListen
    from fleetqueue.dashboard.server import DashboardCannotListen
    from fleetqueue.lab.errors import EngineError
    from fleetqueue.real.kubectl import KubectlFailed
    from fleetqueue.runtime.leader_election import LeadershipLost

    return (
        ApiError,
        CannotJoin,
        ChosenByLabels,
        CredentialProblem,
        DashboardCannotListen,
        EngineError,
        KubectlFailed,
        LeadershipLost,
        NoAnswer,
        NotInstalled,
        ProbesCannotListen,
        WouldDropMore,
    )
