"""A cluster leaves the fleet, and all that let Kueue into it goes."""

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.api.meta import Object
from fleetqueue.demo.story2 import SETUP, members
from fleetqueue.demo.story_run import StoryRun
from fleetqueue.lab.cluster_names import HUB

from .placed import account_of

IDS = ("D-2",)
LEAVING = "cluster3"
OF_IT: tuple[tuple[type[Object], str, str], ...] = (
    (cluster.ManagedCluster, LEAVING, ""),
    (ManagedServiceAccount, account_of(LEAVING), LEAVING),
    (ClusterPermission, account_of(LEAVING), LEAVING),
    (Secret, credentials_secret(LEAVING), KUEUE_NAMESPACE),
    (kueue.MultiKueueCluster, members(LEAVING)[0], ""),
)


async def tell(run: StoryRun) -> None:
    run.seen.follow(HUB, ManagedServiceAccount)
    await run.seen.synced()
    missing = [one for one in OF_IT if run.hub.get(*one) is None]
    run.judge("D-2", not missing, str(missing), part="a cluster has its account, permission, secret and member")
    await run.do(f"kubectl delete managedcluster {LEAVING} --timeout=60s --context kind-hub")
    await run.expect("D-2", lambda: not left(run), part="they go with the cluster", why_not=lambda: str(left(run)))
    await run.do(f"kubectl delete -f {SETUP} --timeout=60s --context kind-hub")


def left(run: StoryRun) -> list[str]:
    return [str(found) for one in OF_IT if (found := run.hub.get(*one)) is not None]
