"""The YAML form of a MultiKueue scenario, and the objects that it stands for.

    name: the worker with quota wins
    clusters: {cluster1: good, cluster2: no secret}    # how each is reached: see SOURCES
    profiles: {cluster1: good}                         # ClusterProfiles: see PROFILES
    listed: [cluster1, cluster2]                       # spec.clusters of the config; all by default; null: no config
    parameters: {...}                                  # those of the check, if others than the config; null: none
    quota: {hub: 9, cluster1: 9, cluster2: 0}          # cpus of the ClusterQueue `q` of each cluster; 9 by default
    without: [cluster2]                                # clusters without a LocalQueue
    checks: [other]                                    # more AdmissionChecks, of nobody; all are active
    configured: true                                   # for a Kueue that knows JobSets and ClusterProfiles
    steps:                                             # rounds
      - job: {a: {runs: 1s, managedBy: x}}             # on the hub
      - job: {a: {elastic: true}}                      # with the annotation of elastic jobs
      - job: {a: {notes: {...}}}                       # with annotations of its pods
      - job_set: {a: {runs: 1s, replicas: 2}}          # on the hub
      - job_set: {a: {parts: {driver: {}, worker: {replicas: 2, pods: 2, notes: {...}}}}}
      - create: {cluster1: {a: {}}}                    # a Job on any cluster, without a queue
      - patch: {hub workload a: {...}, cluster1 cq q: {...}, hub config: {...}}    # the Workload of job a
      - patch: {hub workload a 0: {...}}               # of several Workloads of job a the oldest; -1 is the newest
      - answer: {a: {other: {state: Ready}}}           # what the controllers of checks say to the Workload of job a
      - source: {cluster1: good}                       # writes the Secret
      - profile: {cluster1: good}                      # writes the ClusterProfile and the Secret of its credential
      - delete: [hub job a, cluster1 workload a, hub secret cluster1, hub cluster cluster1]
      - wait: 3

Every name gets the prefix of its scenario; it is cut off what comes out.

JobSets are run by our stand-in for JobSet's controller on both sides: what is judged is Kueue's part, and MultiKueue's.
Its webhook is on neither side, so that they are written as it would leave them. The credential of a ClusterProfile is
read by our own secret reader on both sides: on the real one as the program that it is.
"""

import base64
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.inventory_v1alpha1 import EXEC_EXTENSION, ClusterProfile
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.jobset.defaults import completed
from fleetqueue.rules.workload_slices import ELASTIC_JOB

from ..world import Described  # noqa: TID252 - what the rooms share stands above them

WORKERS = ("cluster1", "cluster2")
SYSTEM = "kueue-system"
KINDS: dict[str, type[Object]] = {
    "job": Job,
    "jobset": JobSet,
    "workload": kueue.Workload,
    "cq": kueue.ClusterQueue,
    "check": kueue.AdmissionCheck,
    "config": kueue.MultiKueueConfig,
    "cluster": kueue.MultiKueueCluster,
    "secret": Secret,
    "profile": ClusterProfile,
}
OF_JOB = ("cpu", "runs", "fails", "notes", "elastic")
"""What is said of a Job that is not of its spec."""
OF_JOB_SET = ("cpu", "runs", "fails", "notes", "pods", "replicas", "parts")
PROVIDER = "fleetqueue"
"""The one access provider that Kueue is configured for."""
ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "ByTest",
    "message": "by test",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def _user(**user: Any) -> Callable[[Manifest], Any]:
    return lambda config: config["users"][0].update(user=user)


def _cluster(**cluster: Any) -> Callable[[Manifest], Any]:
    return lambda config: config["clusters"][0]["cluster"].update(cluster)


def _authority_file(config: Manifest) -> None:
    config["clusters"][0]["cluster"].pop("certificate-authority-data", None)
    config["clusters"][0]["cluster"]["certificate-authority"] = "/ca.crt"


SOURCES: dict[str, Callable[[Manifest], Any]] = {
    "good": lambda config: None,
    "token file": _user(tokenFile="/token"),
    "insecure": _cluster(**{"insecure-skip-tls-verify": True}),
    "authority file": _authority_file,
    "no server": _cluster(server=""),
    "bad host": _cluster(server="https://not_a_host:6443"),
    "basic": _user(username="u", password="p"),
    "exec": _user(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Never"}),
    "no context": lambda config: config.update({"current-context": "other"}),
    "empty": lambda config: config.clear(),
    "refused": _cluster(server="https://127.0.0.1:1"),
    "wrong token": _user(token="wrong"),
}
"""What is done to a good kubeconfig. Beside them: `missing`, `no secret`, `no key`, `no file`, `profile`."""

PROFILES: dict[str, tuple[str, Callable[[Manifest], Any]]] = {
    "good": ("good", lambda provider: None),
    "no provider": ("good", lambda provider: provider.clear()),
    "other provider": ("good", lambda provider: provider.update(name="somebody-else")),
    "bad host": ("good", lambda provider: provider["cluster"].update(server="https://not_a_host:6443")),
    "no config": ("good", lambda provider: provider["cluster"].pop("extensions")),
    "no secret": ("no secret", lambda provider: None),
    "wrong token": ("wrong token", lambda provider: None),
}
"""What is done to the Secret and the access provider of a good ClusterProfile."""


def namespace(prefix: str) -> str:
    return f"{prefix}ns"


def surroundings(said: Described, prefix: str, kubeconfigs: dict[str, str]) -> Iterator[tuple[str, Manifest]]:
    """Return what is there before the first step, and on which cluster."""
    for where in ("hub", *WORKERS):
        yield where, Namespace.manifest(namespace(prefix))
        yield where, kueue.ResourceFlavor.manifest(f"{prefix}default", spec={})
        yield where, kueue.ClusterQueue.manifest(f"{prefix}q", spec=_queue_spec(said, where, prefix))
        if where not in said.get("without", ()):
            spec = {"clusterQueue": f"{prefix}q"}
            yield where, kueue.LocalQueue.manifest("q", namespace(prefix), spec=spec)
    clusters = said.get("clusters", {"cluster1": "good", "cluster2": "good"})
    for name, how in clusters.items():
        if (secret := source(name, how, prefix, kubeconfigs)) is not None:
            yield "hub", secret
        if how != "missing":
            yield (
                "hub",
                kueue.MultiKueueCluster.manifest(prefix + name, spec={"clusterSource": _reference(name, how, prefix)}),
            )
    for name, how in said.get("profiles", {}).items():
        yield from (("hub", manifest) for manifest in profile(name, how, prefix, kubeconfigs))
    yield from (("hub", manifest) for manifest in _check(said, list(clusters), prefix))


def source(name: str, how: str, prefix: str, kubeconfigs: dict[str, str]) -> Manifest | None:
    """Return the Secret by which a cluster is reached."""
    if how == "no key":
        return {**Secret.manifest(prefix + name, SYSTEM), "data": {"other": "eA=="}}
    if how not in SOURCES:
        return None
    config = yaml.safe_load(kubeconfigs[name])
    SOURCES[how](config)
    data = {"kubeconfig": base64.b64encode(yaml.safe_dump(config).encode()).decode()}
    return {**Secret.manifest(prefix + name, SYSTEM), "data": data}


def profile(name: str, how: str, prefix: str, kubeconfigs: dict[str, str]) -> Iterator[Manifest]:
    """Return a ClusterProfile, and before it the Secret that its credential is read from."""
    to_secret, to_provider = PROFILES[how]
    if (secret := source(name, to_secret, prefix, kubeconfigs)) is not None:
        yield secret
    plugin = {"name": prefix + name, "key": "kubeconfig", "namespace": SYSTEM}
    reached = yaml.safe_load(kubeconfigs[name])["clusters"][0]["cluster"]
    provider = {
        "name": PROVIDER,
        "cluster": {**reached, "extensions": [{"name": EXEC_EXTENSION, "extension": plugin}]},
    }
    to_provider(provider)
    status = {"accessProviders": [provider] if provider else []}
    spec = {"displayName": name, "clusterManager": {"name": "by-test"}}
    yield ClusterProfile.manifest(prefix + name, SYSTEM, spec=spec, status=status)


def job(name: str, said: Described, prefix: str, *, has_queue: bool = True) -> Manifest:
    spec = {"template": _pod_template(said)}
    spec |= {field: value for field, value in said.items() if field not in OF_JOB}
    labels = {kueue.QUEUE_LABEL: "q"} if has_queue else None
    annotations = {ELASTIC_JOB: "true"} if said.get("elastic") else None
    return Job.manifest(name, namespace(prefix), labels=labels, annotations=annotations, spec=spec)


def job_set(name: str, said: Described, prefix: str) -> Manifest:
    parts = [_part(part, each or {}) for part, each in said.get("parts", {"part": said}).items()]
    spec = {"replicatedJobs": parts, **{field: value for field, value in said.items() if field not in OF_JOB_SET}}
    return completed(JobSet.manifest(name, namespace(prefix), labels={kueue.QUEUE_LABEL: "q"}, spec=spec))


def _part(name: str, said: Described) -> Manifest:
    pods = said.get("pods", 1)
    work = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": _pod_template(said)}
    return {"name": name, "replicas": said.get("replicas", 1), "template": {"metadata": {}, "spec": work}}


def _pod_template(said: Described) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(said.get("cpu", 1))}}}
    notes = {"fleetqueue.dev/run-for": said.get("runs", "1000s"), **said.get("notes", {})}
    if said.get("fails"):
        notes["fleetqueue.dev/fails"] = "true"
    return {"metadata": {"annotations": notes}, "spec": {"containers": [container], "restartPolicy": "Never"}}


def _reference(name: str, how: str, prefix: str) -> Manifest:
    if how == "profile":
        return {"clusterProfileRef": {"name": prefix + name}}
    if how == "no file":
        return {"kubeConfig": {"location": "/there/is/no/such/file", "locationType": "Path"}}
    return {"kubeConfig": {"location": prefix + name, "locationType": "Secret"}}


def _check(said: Described, clusters: list[str], prefix: str) -> Iterator[Manifest]:
    listed = said.get("listed", clusters)
    if listed is not None:
        names = [prefix + name for name in listed]
        yield kueue.MultiKueueConfig.manifest(f"{prefix}config", spec={"clusters": names})
    parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": f"{prefix}config"}
    parameters = said.get("parameters", parameters)
    spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, **({"parameters": parameters} if parameters else {})}
    yield kueue.AdmissionCheck.manifest(f"{prefix}mk", spec=spec)
    for name in said.get("checks", ()):
        spec = {"controllerName": "example.com/by-test"}
        yield kueue.AdmissionCheck.manifest(prefix + name, spec=spec, status={"conditions": [ACTIVE]})


def _queue_spec(said: Described, where: str, prefix: str) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": str(said.get("quota", {}).get(where, 9))}
    flavor = {"name": f"{prefix}default", "resources": [quota]}
    spec: Manifest = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    if where == "hub":
        checks = [{"name": prefix + name} for name in ("mk", *said.get("checks", ()))]
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    return spec
