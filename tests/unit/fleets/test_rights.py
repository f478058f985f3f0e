"""The account of each embedded part may do what the part does, and no more.

The table is kept by hand: whoever adds a call to a part adds a line here and in its role, and says where the call is.
"""

import pytest

from fleetqueue.embedded.ocm.registration.hub.permissions import cluster_role, shared_roles
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.systems import add_ons, kueue, ocm, operators
from fleetqueue.fleets.systems.parts import install

ADD_ONS, CLUSTER, WORK = (f"{group}.open-cluster-management.io" for group in ("addon", "cluster", "work"))
ACCOUNTS, PERMISSIONS = (f"{group}.open-cluster-management.io" for group in ("authentication", "rbac"))
CSRS, EVENTS, LEASES, RBAC = "certificates.k8s.io", "events.k8s.io", "coordination.k8s.io", "rbac.authorization.k8s.io"
JOBSET, KUEUE, PROFILES = "jobset.x-k8s.io", "kueue.x-k8s.io", "multicluster.x-k8s.io"
TRAINER, WRAPPERS, SPARK = "trainer.kubeflow.org", "workload.codeflare.dev", "sparkoperator.k8s.io"
SETS = "leaderworkerset.x-k8s.io"
TRAINING = [f"{kind}jobs.kubeflow.org" for kind in ("jax", "paddle", "pytorch", "tf", "xgboost")]
RAY = [f"{kind}.ray.io" for kind in ("rayclusters", "rayjobs", "rayservices")]
MANAGED = (*TRAINING, "mpijobs.kubeflow.org", *RAY, f"trainjobs.{TRAINER}", f"appwrappers.{WRAPPERS}")
WRAPPED = dict.fromkeys(("get", "create", "delete"), "app_wrappers: _look, _create, _is_left")
AGENTS = "registration hands it on to agents"
KUBERNETES = "Kubernetes asks for it where an approval is written"
HOME = " at home"
COUNTED = {"create": "runtime/counted_events", "patch": "the same, when something happens again"}
SERIES = {"create": "runtime/events: SeriesRecorder", "patch": "the same, when something happens again"}
LIVE_JOB = "operators/controller: _is_there"


def followed(**more):
    """What runtime/informer does, and more."""
    return {"list": "runtime/informer", "watch": "runtime/informer"} | more


def made(**more):
    """What operators/controller does with what it makes, and more."""
    return followed(create="controller: _create", delete="controller: _delete", **more)


KEPT = {"create": "writing: ensure", "patch": "writing: ensure"}
USES = {
    "cluster-manager-registration-controller": {
        f"certificatesigningrequests.{CSRS}": followed(create=AGENTS, get=AGENTS),
        f"certificatesigningrequests/approval.{CSRS}": {"update": "certificate_approvals: approve"},
        f"signers.{CSRS} kubernetes.io/kube-apiserver-client": {"approve": KUBERNETES},
        "namespaces": followed(**KEPT, get="writing: ensure, where the label is missing"),
        **{
            f"{each}.{RBAC}": followed(**KEPT, get="writing: ensure", delete="managed_clusters: _withdraw")
            for each in ("clusterroles", "clusterrolebindings", "rolebindings")
        },
        f"leases.{LEASES}": followed(create="leases: reconcile", get=AGENTS, update=AGENTS),
        "subjectaccessreviews.authorization.k8s.io": {"create": "certificate_approvals: may its user renew"},
        f"managedclusters.{CLUSTER}": followed(
            patch="finalizers, taints, labels of add-ons", get=AGENTS, update=AGENTS
        ),
        f"managedclusters/status.{CLUSTER}": {"patch": "writing: write_condition", "update": AGENTS},
        f"managedclustersets.{CLUSTER}": followed(create="built_in_sets", patch="built_in_sets"),
        f"managedclustersets/status.{CLUSTER}": {"patch": "cluster_sets"},
        f"managedclustersetbindings.{CLUSTER}": followed(),
        f"managedclustersetbindings/status.{CLUSTER}": {"patch": "bindings"},
        f"manifestworks.{WORK}": followed(delete="cleanup", get=AGENTS, update=AGENTS, patch=AGENTS),
        f"manifestworks/status.{WORK}": {"patch": AGENTS, "update": AGENTS},
        f"managedclusteraddons.{ADD_ONS}": followed(delete="cleanup", get=AGENTS),
        f"managedclusteraddons/status.{ADD_ONS}": {"patch": "addons/on_clusters", "update": AGENTS},
        f"managedclusters/clientcertificates.register.{CLUSTER.removeprefix('cluster.')}": {"renew": AGENTS},
        f"clusterprofiles.{PROFILES}": followed(create="lifecycle", patch="status: labels", delete="lifecycle"),
        f"clusterprofiles/status.{PROFILES}": {"patch": "status"},
        f"events.{EVENTS}": {**SERIES, "update": AGENTS},
        "events": {"create": AGENTS, "patch": AGENTS, "update": AGENTS},
    },
    "cluster-manager-placement-controller": {
        **{
            f"{each}.{CLUSTER}": followed()
            for each in (
                "managedclusters",
                "managedclustersets",
                "managedclustersetbindings",
                "addonplacementscores",
                "placements",
            )
        },
        f"placementdecisions.{CLUSTER}": followed(create="writing", patch="writing: labels", delete="writing"),
        f"placementdecisions/status.{CLUSTER}": {"patch": "writing"},
        f"placements/status.{CLUSTER}": {"patch": "writing: _write_status"},
        f"events.{EVENTS}": {"create": "telling"},
    },
    "cluster-manager-work-controller": {
        f"manifestworks.{WORK}": followed(create="replica_sets", patch="replica_sets", delete="completed_works"),
        f"manifestworkreplicasets.{WORK}": followed(patch="replica_sets: finalizer"),
        f"manifestworkreplicasets/status.{WORK}": {"patch": "replica_sets: _write_status"},
        f"placements.{CLUSTER}": followed(),
        f"placementdecisions.{CLUSTER}": followed(),
    },
    "cluster-manager-addon-manager-controller": {
        **{f"{each}.{CLUSTER}": followed() for each in ("managedclusters", "placements", "placementdecisions")},
        f"clustermanagementaddons.{ADD_ONS}": followed(patch="installation: _take_self_back"),
        f"clustermanagementaddons/status.{ADD_ONS}": {"patch": "configuration"},
        f"addontemplates.{ADD_ONS}": followed(),
        f"addondeploymentconfigs.{ADD_ONS}": followed(),
        f"managedclusteraddons.{ADD_ONS}": followed(
            create="installation", patch="installation: owner; deployment: finalizer", delete="installation"
        ),
        f"managedclusteraddons/status.{ADD_ONS}": {"patch": "registration, configuration, deployment, progress"},
        f"manifestworks.{WORK}": followed(create="deployment", patch="deployment", delete="deployment"),
        f"certificatesigningrequests.{CSRS}": followed(),
        f"certificatesigningrequests/approval.{CSRS}": {"update": "certificate_approvals"},
        f"signers.{CSRS}": {"approve": f"{KUBERNETES}; a template may name any signer"},
        f"rolebindings.{RBAC}": {verb: "registration: _bind" for verb in ("get", "create", "patch")},
    },
    "managed-serviceaccount-addon-manager": {
        f"managedserviceaccounts.{ACCOUNTS}": followed(delete="ephemeral_identity"),
        f"clusterprofiles.{PROFILES}": followed(),
        f"clusterprofiles/status.{PROFILES}": {"patch": "cluster_profiles/seed_credentials"},
        "secrets": followed(**dict.fromkeys(("get", "create", "patch", "delete"), "profile_secrets")),
    },
    "cluster-permission": {
        f"clusterpermissions.{PERMISSIONS}": followed(),
        f"clusterpermissions/status.{PERMISSIONS}": {"patch": "controller: _say"},
        f"managedserviceaccounts.{ACCOUNTS}": followed(),
        f"managedclusteraddons.{ADD_ONS}": followed(),
        f"managedclusters.{CLUSTER}": followed(),
        f"manifestworks.{WORK}": followed(create="controller: _ensure", patch="controller: _ensure"),
        "namespaces": followed(),
    },
    "kueue-controller-manager": {
        "limitranges": followed(),
        "namespaces": followed(),
        "nodes": followed(),
        "runtimeclasses.node.k8s.io": followed(),
        "priorityclasses.scheduling.k8s.io": followed(),
        "jobs.batch": followed(
            get="jobs/matching", patch="jobs/job_writes", delete="jobs/job_writes, after its retention"
        ),
        "jobs/status.batch": {"patch": "jobs/job_writes; multikueue/workloads"},
        f"jobsets.{JOBSET}": followed(
            get="jobs/matching", patch="jobs/job_writes", delete="jobs/job_writes, after its retention"
        ),
        f"jobsets/status.{JOBSET}": {"patch": "multikueue/workloads"},
        "pods": followed(get="pods/pod_writes", patch="pods/pod_writes", delete="pods/pod_writes"),
        "pods/status": {"patch": "pods/pod_writes; multikueue/workloads"},
        "statefulsets.apps": followed(),
        "leaderworkersets.leaderworkerset.x-k8s.io": followed(),
        **{
            kind: followed(get="jobs/matching", patch="jobs/job_writes", delete="jobs/job_writes, after its retention")
            for kind in (*MANAGED, f"sparkapplications.{SPARK}")
        },
        **{kind.replace(".", "/status.", 1): {"patch": "multikueue/workloads"} for kind in MANAGED},
        f"trainingruntimes.{TRAINER}": followed(),
        f"clustertrainingruntimes.{TRAINER}": followed(),
        f"workloads.{KUEUE}": followed(
            get="multikueue/copies", create="jobs/matching", patch="jobs/workload_writes", delete="jobs/workload_writes"
        ),
        f"workloads/status.{KUEUE}": {"patch": "scheduling/writing, workloads, multikueue"},
        f"admissionchecks.{KUEUE}": followed(patch="in_use: finalizer", get="runtime/cluster: set_conditions"),
        f"admissionchecks/status.{KUEUE}": {"patch": "multikueue/admission_checks"},
        f"clusterqueues.{KUEUE}": followed(patch="queues: finalizer"),
        f"clusterqueues/status.{KUEUE}": {"patch": "queues"},
        f"resourceflavors.{KUEUE}": followed(patch="in_use: finalizer"),
        f"topologies.{KUEUE}": followed(patch="in_use: finalizer"),
        f"multikueueclusters.{KUEUE}": followed(get="runtime/cluster: set_conditions"),
        f"multikueueclusters/status.{KUEUE}": {"patch": "multikueue/clusters"},
        f"localqueues.{KUEUE}": followed(),
        f"localqueues/status.{KUEUE}": {"patch": "queues"},
        f"cohorts.{KUEUE}": followed(),
        f"workloadpriorityclasses.{KUEUE}": followed(),
        f"multikueueconfigs.{KUEUE}": followed(),
        f"events.{EVENTS}": SERIES,
        "secrets" + HOME: followed(get="cluster_profiles/exec_plugins"),
        f"clusterprofiles.{PROFILES}" + HOME: followed(),
        f"leases.{LEASES}" + HOME: dict.fromkeys(("get", "create", "patch"), "runtime/leader_election"),
    },
    "jobset-controller-manager": {
        f"jobsets.{JOBSET}": followed(delete="job_sets, after its time to live"),
        f"jobsets/status.{JOBSET}": {"patch": "job_sets: _write_status"},
        "jobs.batch": followed(create="job_sets: _act", patch="job_sets: _patch", delete="job_sets: _act"),
        "jobs/status.batch": {"patch": "job_sets: _resume"},
        "services": followed(create="job_sets: _act"),
        f"events.{EVENTS}": SERIES,
    },
    "training-operator": {
        **{kind: followed(get=LIVE_JOB, delete="controller, after its time to live") for kind in TRAINING},
        **{kind.replace(".", "/status.", 1): {"patch": "controller: _tell"} for kind in TRAINING},
        "pods": made(),
        "services": made(),
        "events": COUNTED,
    },
    "mpi-operator": {
        "mpijobs.kubeflow.org": followed(get=LIVE_JOB),
        "mpijobs/status.kubeflow.org": {"patch": "controller: _tell"},
        "jobs.batch": made(patch="mpi_plan: the launcher is suspended and resumed"),
        "jobs/status.batch": {"patch": "mpi_plan: a launcher that is resumed starts anew"},
        "pods": made(),
        "services": made(),
        "events": COUNTED,
    },
    "kuberay-operator": {
        "rayclusters.ray.io": made(get=LIVE_JOB, patch="ray_service_plan: what has changed"),
        "rayjobs.ray.io": followed(get=LIVE_JOB),
        "rayservices.ray.io": followed(get=LIVE_JOB),
        **{kind.replace(".", "/status.", 1): {"patch": "controller: _tell"} for kind in RAY},
        "jobs.batch": made(),
        "pods": made(),
        "services": made(),
        "events": COUNTED,
    },
    "lws-controller-manager": {
        f"leaderworkersets.{SETS}": followed(),
        f"leaderworkersets/status.{SETS}": {"patch": "leader_worker_sets: _write"},
        "statefulsets.apps": followed(create="leader_worker_sets: reconcile", patch="leader_worker_sets: _update"),
        "pods": followed(delete="leader_worker_sets: _restart"),
    },
    "kubeflow-trainer-controller-manager": {
        **{f"{kind}.{TRAINER}": followed() for kind in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")},
        f"trainjobs/status.{TRAINER}": {"patch": "train_jobs: _write"},
        f"jobsets.{JOBSET}": followed(
            create="train_jobs: _bring", patch="train_jobs: _bring", delete="train_jobs, after its deadline"
        ),
        f"events.{EVENTS}": {"create": "train_jobs: _complain"},
    },
    "appwrapper-controller-manager": {
        f"appwrappers.{WRAPPERS}": followed(patch="app_wrappers: finalizer"),
        f"appwrappers/status.{WRAPPERS}": {"patch": "app_wrappers: _write"},
        "pods": followed(**WRAPPED),
        "services": WRAPPED,
        "deployments.apps": WRAPPED,
        "statefulsets.apps": WRAPPED,
        "jobs.batch": WRAPPED,
        f"jobsets.{JOBSET}": WRAPPED,
        "pytorchjobs.kubeflow.org": WRAPPED,
        "rayclusters.ray.io": WRAPPED,
        "rayjobs.ray.io": WRAPPED,
        f"events.{EVENTS}": {"create": "app_wrappers: _write"},
    },
    "spark-operator-controller": {
        f"sparkapplications.{SPARK}": followed(),
        f"sparkapplications/status.{SPARK}": {"patch": "spark_applications: _write"},
        "pods": followed(create="spark_applications: reconcile", delete="spark_applications: reconcile"),
    },
    "klusterlet-registration-agent": {
        "nodes": followed(),
        "namespaces": followed(create="statuses: managed namespaces", patch="statuses: managed namespaces"),
        f"clusterclaims.{CLUSTER}": followed(),
        "secrets": dict.fromkeys(("get", "create", "patch", "delete"), "addons/agent_registration"),
        "secrets" + HOME: followed(),
        f"leases.{LEASES}": {"get": "addons/agent_health"},
    },
    "klusterlet-work-agent": {"*.*": {"*": "applies whatever works hold; upstream's is an administrator, too"}},
    "managed-serviceaccount-addon-agent": {
        "tokenreviews.authentication.k8s.io": {"create": "agent: _is_refused"},
        "serviceaccounts" + HOME: followed(**dict.fromkeys(("get", "create", "delete"), "agent")),
        "serviceaccounts/token" + HOME: {"create": "agent: _issue"},
        f"leases.{LEASES}" + HOME: {"create": "add_on_lease", "patch": "add_on_lease"},
    },
}
AGENT_PARTS = (ocm.registration_agent("c1", "https://c1"), ocm.work_agent("c1"), add_ons.accounts_agent())
OPERATORS = [operator.part for operator in operators.OPERATORS]
ALL = (*ocm.HUB_PARTS, *add_ons.HUB_PARTS, kueue.KUEUE, kueue.JOBSET, *OPERATORS, *AGENT_PARTS)
PARTS = {part.name: part for part in ALL}


def granted(rules, suffix=""):
    """Return the verbs for each resource, as `resource.group name`."""
    found = {}
    for rule in rules:
        for group in rule.get("apiGroups", ()):
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    key = f"{resource}.{group}".removesuffix(".") + (f" {name}" if name else "") + suffix
                    found.setdefault(key, []).extend(rule["verbs"])
    return found


@pytest.mark.parametrize("name", PARTS)
def test_an_account_may_do_exactly_what_its_part_does(name):
    part = PARTS[name]

    given = granted(part.rules) | granted(part.rules_at_home, HOME)

    assert {key: sorted(verbs) for key, verbs in given.items()} == {key: sorted(USES[name][key]) for key in USES[name]}


def test_registration_has_every_right_that_it_gives_to_agents():
    roles = [cluster_role("c1", {}, is_accepted=True), *shared_roles({})]
    has = {(key, verb) for key, verbs in granted(ocm.REGISTRATION.rules).items() for verb in verbs}

    given = {
        (key.removesuffix(" c1"), verb)
        for role in roles
        for key, verbs in granted(role["rules"]).items()
        for verb in verbs
    }

    assert given - has == set()


def test_only_who_copies_tokens_reads_the_secrets_of_all_namespaces():
    readers = [name for name, part in PARTS.items() if "list" in granted(part.rules).get("secrets", ())]

    assert readers == ["managed-serviceaccount-addon-manager"]


@pytest.mark.parametrize(
    ("part", "namespace", "is_allowed"),
    [
        pytest.param(kueue.KUEUE, "kueue-system", True, id="Kueue at home"),
        pytest.param(kueue.KUEUE, "default", False, id="Kueue elsewhere"),
        pytest.param(kueue.KUEUE, "", False, id="Kueue everywhere"),
        pytest.param(ocm.REGISTRATION, "kueue-system", False, id="registration where kubeconfigs are"),
        pytest.param(add_ons.accounts_agent(), "default", False, id="an agent"),
    ],
)
@pytest.mark.virtual_time
async def test_who_may_list_secrets(part, namespace, is_allowed):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await install(client, part)
        asked = {"verb": "list", "resource": "secrets", "namespace": namespace}
        user = f"system:serviceaccount:{part.namespace}:{part.account}"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}

        answer = await client.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            review | {"spec": {"user": user, "resourceAttributes": asked}},
        )

        assert answer["status"]["allowed"] is is_allowed
