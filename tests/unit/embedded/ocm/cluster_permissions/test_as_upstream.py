"""What comes of ClusterPermissions is what upstream's own controller made of them.

Recorded from cluster-permission 6a3e08a (Go, unchanged) on kube-apiserver 1.36.3; the work agent was played there as
here. Dates and uids are left out, and what Go writes as null.
"""

import json
from pathlib import Path

import pytest
import yaml

from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import without_nulls
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.embedded.ocm.cluster_permissions import wiring
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import settle
from tests.invariants.second_look import managed

from .objects import ADD_ON, CLUSTER, account_manifest, cluster_manifest

HERE = Path(__file__).parent
DESCRIBED = {
    name: told for name, told in yaml.safe_load((HERE / "upstream.yaml").read_text()).items() if name != ".parts"
}
RECORDED = json.loads((HERE / "upstream.json").read_text())
UNTOLD = ("lastTransitionTime", "feedbackScrapeType")
APPLIED = {
    "applied": (True, "AppliedManifestWorkComplete", "Apply manifest work complete"),
    "failed": (False, "AppliedManifestWorkFailed", "Failed to apply manifest work"),
}


def cases():
    for name, told in DESCRIBED.items():
        differs = told.get("differs")
        yield pytest.param(name, marks=[pytest.mark.xfail(reason=differs, strict=True)] if differs else (), id=name)


def test_there_is_a_record_of_each():
    assert sorted(RECORDED) == sorted(DESCRIBED)


@pytest.mark.parametrize("name", list(cases()))
async def test_it_ends_as_upstream_ended_it(api, hub, name):
    told = DESCRIBED[name]
    arrange(api)

    async with managed(Manager(hub, wiring.controllers(hub, Metrics()))):
        api.add(ClusterPermission.manifest(name, CLUSTER, spec=told["spec"]))
        await settle()
        report(api, told.get("agent", "applied"))
        await settle()
        if "then" in told:
            api.change(ClusterPermission, name, CLUSTER, spec=told["then"])
            await settle()

    assert end_state(api, name) == RECORDED[name]


def arrange(api):
    for namespace in ("paris", "rome"):
        api.add(Namespace.manifest(namespace, labels={"region": "eu"}))
    add_on = ManagedClusterAddOn.manifest(ADD_ON, CLUSTER, spec={"installNamespace": "agents"})
    api.add(cluster_manifest(), account_manifest("ok"), add_on)


def report(api, agent):
    """Do what the work agent does; of all objects, it does not find the role `reader`."""
    for work in api.list(ManifestWork):
        if agent in APPLIED:
            found = [manifest_status(place, each, agent) for place, each in enumerate(work.spec.workload.manifests)]
            said = [condition("Applied", *APPLIED[agent])]
            status = {"conditions": said, "resourceStatus": {"manifests": found}}
            api.change(ManifestWork, work.name, CLUSTER, status=status)


def manifest_status(place, manifest, agent):
    metadata, is_applied = manifest["metadata"], agent == "applied"
    said = (
        ("AppliedManifestComplete", "Apply manifest complete") if is_applied else ("AppliedManifestFailed", "no rights")
    )
    about = {"kind": manifest["kind"], "resource": f"{manifest['kind'].lower()}s", "name": metadata["name"]}
    where = {"group": "rbac.authorization.k8s.io", "version": "v1", "namespace": metadata.get("namespace", "")}
    is_there = condition("Available", metadata["name"] != "reader", "ResourceAvailable")
    return {
        "resourceMeta": {"ordinal": place, **about, **where},
        "conditions": [condition("Applied", is_applied, *said), is_there],
    }


def end_state(api, name):
    raw = api.raw(ClusterPermission, name, CLUSTER)
    uid = raw["metadata"]["uid"][:5]
    works = {work.name: api.raw(ManifestWork, work.name, CLUSTER) for work in api.list(ManifestWork)}
    assert set(works) <= {f"{name}-{uid}"}
    spec = next((work["spec"] for work in works.values()), None)
    ended = {"status": raw.get("status", {}), "work": None if spec is None else without_nulls(spec)}
    return json.loads(json.dumps(timeless(ended)).replace(f"-{uid}", "-UID"))


def timeless(value):
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in UNTOLD}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value
