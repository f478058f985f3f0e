"""What an operator can choose about credentials."""

from dataclasses import dataclass

from fleetqueue.api.authentication_v1 import SHORTEST_SECONDS
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE


@dataclass(frozen=True, slots=True)
class CredentialsSettings:
    kueue_namespace: str = KUEUE_NAMESPACE
    """Where Kueue runs on the hub: it reads the kubeconfig secrets there."""

    namespace: str = NAMESPACE
    """Where the admin kubeconfigs given at `join` are kept on the hub; nobody else should read it."""

    worker_namespace: str = KUEUE_NAMESPACE
    """Where Kueue runs on the workers: the service account stands there."""

    kueue_config_map: str = ""
    """The ConfigMap in Kueue's namespace with Kueue's configuration; empty finds it."""

    job_kinds: tuple[str, ...] = ()
    """The kinds that jobs have, where Kueue's configuration cannot be found on the hub; named as in
    `integrations.frameworks`. Empty stands for Kueue's own default, `batch/job`."""

    lifetime: int = 24 * 3600
    """Seconds that a token is valid; the worker may shorten it. A worker that is cut off for longer than the last
    fifth of it needs a new token when it is back, and gets one."""

    verify_every: float = 300.0
    """Seconds between two looks whether a credential still works; a lost connection of Kueue, and a worker that answers
    the dispatcher with 401, look at once."""

    linger: float = 60.0
    """Seconds that a credential stays after nothing uses it, so that a drain can look at its worker once more and a
    Placement that goes back and forth costs nothing. At most 10 where its cluster is leaving."""

    answer_timeout: float = 10.0
    """Seconds that a worker may take to answer."""

    cluster_proxy_url: str = ""
    """Where OCM's cluster-proxy answers, if Kueue shall reach the workers through it; used with managed service
    accounts only."""

    def __post_init__(self) -> None:
        if self.lifetime < SHORTEST_SECONDS:
            raise ValueError(f"lifetime is {self.lifetime} but must be {SHORTEST_SECONDS} or more: the API has no less")
