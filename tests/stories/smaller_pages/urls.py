"""Where a cluster says that it is: nowhere, or in two places."""

import json

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, credentials_secret
from fleetqueue.demo.stage import Stage

from .placed import complains, everything_is_active, server_of, version

IDS = ("C-5", "C-6")
CLUSTER = "cluster2"
ELSEWHERE = "https://localhost:9"
"""Nobody answers there, and says so at once."""


async def tell(stage: Stage, name: str = CLUSTER) -> None:
    cluster = json.loads(await stage.do(f"kubectl get managedcluster {name} -o json --context kind-hub"))
    (where,) = cluster["spec"]["managedClusterClientConfigs"]
    before = version(stage, name)
    await set_urls(stage, name, [])
    await complains(stage, "C-5", name, f"no client config found for cluster {name}")
    stage.judge("C-5", version(stage, name) == before, "the secret was written", part="nothing is written")
    await set_urls(stage, name, [{"url": ELSEWHERE}, where])
    await complains(stage, "C-6", name, ELSEWHERE)
    await set_urls(stage, name, [where, {"url": ELSEWHERE}])
    await stage.do(f"kubectl delete secret {credentials_secret(name)} -n {KUEUE_NAMESPACE} --context kind-hub")
    await stage.expect(
        "C-6",
        lambda: version(stage, name) not in ("", before) and server_of(stage, name) == where["url"],
        part="a new secret has the first of two URLs",
    )
    await everything_is_active(stage, "C-6", "with which Kueue connects")


async def set_urls(stage: Stage, name: str, configs: list[dict[str, str]]) -> None:
    manifest = ManagedCluster.manifest(name, spec={"managedClusterClientConfigs": configs})
    await stage.do("kubectl apply -f - --context kind-hub", stdin=json.dumps(manifest))
