"""Each right that the shipped roles give has somebody who uses it, and each use has its right.

The table is kept by hand: whoever adds a call to the code adds a line here and in the role. The test on the real engine
(tests/real) takes one rule away at a time and sees something fail.
"""

from typing import Any

import pytest

from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS

Load = Any

KUEUE, OCM, CRDS = "kueue.x-k8s.io", "cluster.open-cluster-management.io", "apiextensions.k8s.io"
LEASES = "coordination.k8s.io"
LISTED_AND_WATCHED = "runtime/informer.py follows what a controller declares"

USES: dict[str, dict[tuple[str, str, str], dict[str, str]]] = {
    "controller_cluster_role": {
        (KUEUE, "admissionchecks", ""): {
            "get": "runtime/cluster: set_conditions, to write to the very object that was seen",
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "patch": "multikueue_configs: add_finalizer, remove_finalizer",
        },
        (KUEUE, "admissionchecks/status", ""): {"patch": "multikueue_configs: set_conditions"},
        (KUEUE, "multikueueconfigs", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "multikueue_configs: ensure",
            "patch": "multikueue_configs: ensure",
            "delete": "multikueue_configs: ensure_absent",
        },
        (KUEUE, "multikueueclusters", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "multikueue_configs: ensure",
            "patch": "multikueue_configs: ensure, when somebody changed one of ours",
            "delete": "multikueue_configs: _retire",
        },
        (KUEUE, "workloads", ""): {
            "get": "dispatcher: _nominate reads the raw Workload",
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "patch": "sent_records: note",
        },
        (KUEUE, "workloads/status", ""): {"patch": "workload_checks: _write; dispatcher: _nominate"},
        (KUEUE, "clusterqueues", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        (KUEUE, "localqueues", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        (LEASES, "leases", "fleetqueue-fence"): {
            "get": "fences: _look",
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "patch": "fences: _mark",
        },
        ("batch", "jobs", ""): {"get": "evictions: _finish reads the raw Job; earlier_workloads: _job"},
        ("batch", "jobs/status", ""): {"patch": "evictions: _finish"},
        ("apps", "statefulsets", ""): {"get": "earlier_workloads: _job"},
        ("leaderworkerset.x-k8s.io", "leaderworkersets", ""): {"get": "earlier_workloads: _job"},
        (OCM, "managedclusters", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        (OCM, "addonplacementscores", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "silence: clusters that never had a score",
            "delete": "silence: clusters that are gone",
        },
        (OCM, "addonplacementscores/status", ""): {"patch": "silence: _lower"},
        ("authentication.open-cluster-management.io", "managedserviceaccounts", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "managed_accounts: credential",
            "patch": "managed_accounts: credential, when a setting changed",
            "delete": "managed_accounts: withdraw",
        },
        ("rbac.open-cluster-management.io", "clusterpermissions", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "managed_accounts: credential",
            "patch": "managed_accounts: credential, when a setting changed",
            "delete": "managed_accounts: withdraw",
        },
        ("", "namespaces", "kube-system"): {"get": "processes/capabilities: known_identity"},
        ("addon.open-cluster-management.io", "managedclusteraddons", "managed-serviceaccount"): {
            "get": "held_add_ons: find",
            "patch": "held_add_ons: hold, withdraw",
        },
        (CRDS, "customresourcedefinitions", "multikueueconfigs.kueue.x-k8s.io"): {
            "get": "processes/capabilities: _listed_clusters"
        },
        (CRDS, "customresourcedefinitions", "clusterprofiles.multicluster.x-k8s.io"): {
            "get": "credentials/capabilities: _profile_fields"
        },
        ("events.k8s.io", "events", ""): {"create": "runtime/events.py"},
    },
    "controller_role_kueue_system": {
        (OCM, "placements", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        (OCM, "placementdecisions", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("", "secrets", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "create": "kubeconfig_secrets: ensure",
            "patch": "kubeconfig_secrets: ensure, at every renewal",
            "delete": "kubeconfig_secrets: _withdraw",
        },
        ("", "configmaps", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("", "pods", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("apps", "deployments", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("", "configmaps", "kube-root-ca.crt"): {"get": "managed_accounts: _endpoint, with a cluster-proxy"},
        ("multicluster.x-k8s.io", "clusterprofiles", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("multicluster.x-k8s.io", "clusterprofiles/status", ""): {"patch": "cluster_profiles: reconcile"},
    },
    "controller_role_own_namespace": {
        (LEASES, "leases", ""): {"create": "leader_election: _take, the first time"},
        (LEASES, "leases", "fleetqueue-controller"): {
            "get": "leader_election: _take",
            "patch": "leader_election: _take, _release",
        },
        ("", "secrets", ""): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
            "patch": "admin_kubeconfigs: _mark",
            "delete": "admin_kubeconfigs: withdraw, when the cluster is gone",
        },
    },
    "controller_role_cluster_namespace": {
        ("", "secrets", "kueue-admin-CLUSTER"): {"get": "managed_accounts: _token_secret"},
    },
    "score_agent_hub_role": {
        (OCM, "addonplacementscores", ""): {"create": "agent: _publish"},
        (OCM, "addonplacementscores", "resource-usage-score"): {
            "list": LISTED_AND_WATCHED,
            "watch": LISTED_AND_WATCHED,
        },
        (OCM, "addonplacementscores/status", "resource-usage-score"): {"patch": "agent: _write"},
        ("addon.open-cluster-management.io", "managedclusteraddons", "fleetqueue-score-agent"): {
            "get": "add_on_owner: owned_by_add_on"
        },
        (LEASES, "leases", ""): {"create": "fence: _take_lease"},
        (LEASES, "leases", "fleetqueue-fence"): {"get": "fence: _take_lease", "patch": "fence: _send_renewal"},
    },
    "score_agent_worker_cluster_role": {
        ("", "nodes", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED},
        ("", "pods", ""): {"list": LISTED_AND_WATCHED, "watch": LISTED_AND_WATCHED, "delete": "fence: _delete_job"},
        (KUEUE, "workloads", ""): {
            "list": "fence: _promised",
            "patch": "fence: _deactivate",
            "delete": "fence: _take, when the job has stopped",
        },
        ("events.k8s.io", "events", ""): {"create": "fence: _deactivate says why"},
        **{
            (kind.group, kind.resource, ""): {"delete": "fence: _delete_job"}
            for name, kind in JOB_KINDS.items()
            if name != "pod"
        },
    },
}


def granted(role: dict[str, Any]) -> dict[tuple[str, str, str], set[str]]:
    """Return what a role allows: from (group, resource, name or nothing) to the verbs."""
    allowed: dict[tuple[str, str, str], set[str]] = {}
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    allowed.setdefault((group, resource, name), set()).update(rule["verbs"])
    return allowed


@pytest.mark.parametrize("name", USES)
def test_a_role_gives_exactly_what_is_used(name: str, load: Load) -> None:
    role = load(f"kustomize/rbac/{name}.yaml")[0]

    assert granted(role) == {what: set(verbs) for what, verbs in USES[name].items()}


@pytest.mark.parametrize("name", USES)
def test_no_right_is_given_twice(name: str, load: Load) -> None:
    rules = load(f"kustomize/rbac/{name}.yaml")[0]["rules"]

    given = [
        (group, resource, named, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for named in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    ]
    assert len(given) == len(set(given))


def test_every_role_is_in_the_table(files: list[str], load: Load) -> None:
    roles = {
        path.removeprefix("kustomize/rbac/").removesuffix(".yaml")
        for path in files
        if path.startswith("kustomize/rbac/") and load(path)[0]["kind"] in ("Role", "ClusterRole")
    }

    assert roles == set(USES)
