"""Where a cluster says that it is: nowhere, or in two places."""

import json

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, credentials_secret
from fleetqueue.demo.story_run import StoryRun

from .placed import complains, everything_is_active, server_of, version

IDS = ("C-5", "C-6")
CLUSTER = "cluster2"
ELSEWHERE = "https://localhost:9"
"""Nobody answers there, and says so at once."""


async def tell(run: StoryRun, name: str = CLUSTER) -> None:
    cluster = json.loads(await run.do(f"kubectl get managedcluster {name} -o json --context kind-hub"))
    (where,) = cluster["spec"]["managedClusterClientConfigs"]
    before = version(run, name)
    await set_urls(run, name, [])
    await complains(run, "C-5", name, f"no client config found for cluster {name}")
    run.judge("C-5", version(run, name) == before, "the secret was written", part="nothing is written")
    await set_urls(run, name, [{"url": ELSEWHERE}, where])
    await complains(run, "C-6", name, ELSEWHERE)
    await set_urls(run, name, [where, {"url": ELSEWHERE}])
    await run.do(f"kubectl delete secret {credentials_secret(name)} -n {KUEUE_NAMESPACE} --context kind-hub")
    await run.expect(
        "C-6",
        lambda: version(run, name) not in ("", before) and server_of(run, name) == where["url"],
        part="a new secret has the first of two URLs",
    )
    await everything_is_active(run, "C-6", "with which Kueue connects")


async def set_urls(run: StoryRun, name: str, configs: list[dict[str, str]]) -> None:
    manifest = ManagedCluster.manifest(name, spec={"managedClusterClientConfigs": configs})
    await run.do("kubectl apply -f - --context kind-hub", stdin=json.dumps(manifest))
