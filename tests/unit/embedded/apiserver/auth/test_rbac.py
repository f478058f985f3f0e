"""Who may do what, by roles and bindings."""

import pytest

from fleetqueue.embedded.apiserver.auth import rbac
from fleetqueue.embedded.apiserver.auth.attributes import Attributes, forbidden
from fleetqueue.embedded.apiserver.auth.bootstrap_policy import cluster_role_bindings, cluster_roles
from fleetqueue.embedded.apiserver.auth.rbac import Rbac, compile_policy
from fleetqueue.embedded.apiserver.auth.users import ANONYMOUS, User, service_account

ALICE = User("alice", ("team", "system:authenticated"))
BOT = service_account("ns", "bot")


def role(name, *rules, namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"kind": "Role" if namespace else "ClusterRole", "metadata": metadata, "rules": list(rules)}


def rule(verbs, group="", resources=(), names=(), urls=()):
    found = {"verbs": verbs.split(), "apiGroups": [group], "resources": list(resources)}
    if names:
        found["resourceNames"] = list(names)
    return {"verbs": verbs.split(), "nonResourceURLs": list(urls)} if urls else found


def binding(name, role_kind, role_name, *subjects, namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"metadata": metadata, "roleRef": {"kind": role_kind, "name": role_name}, "subjects": list(subjects)}


def user(name):
    return {"kind": "User", "name": name}


def group(name):
    return {"kind": "Group", "name": name}


def account(namespace, name):
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


def allows(given, who=ALICE, verb="get", resource="pods", **asked):
    policy = compile_policy([role("r", given)], [binding("b", "ClusterRole", "r", user("alice"), account("ns", "bot"))])
    return policy.reason(Attributes(who, verb, resource=resource, **asked)) is not None


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        pytest.param(rule("get", "", ["pods"]), {}, True, id="exactly this"),
        pytest.param(rule("list", "", ["pods"]), {}, False, id="another verb"),
        pytest.param(rule("*", "", ["pods"]), {}, True, id="all verbs"),
        pytest.param(rule("get", "apps", ["pods"]), {}, False, id="another group"),
        pytest.param(rule("get", "*", ["pods"]), {"group": "apps"}, True, id="all groups"),
        pytest.param(rule("get", "", ["*"]), {}, True, id="all resources"),
        pytest.param(rule("get", "", ["pods"]), {"subresource": "status"}, False, id="a subresource is another thing"),
        pytest.param(rule("get", "", ["pods/status"]), {"subresource": "status"}, True, id="the subresource"),
        pytest.param(rule("get", "", ["*/status"]), {"subresource": "status"}, True, id="this subresource of all"),
        pytest.param(rule("get", "", ["*/status"]), {}, False, id="not the resource itself"),
        pytest.param(rule("get", "", ["pods"], ["a"]), {"name": "a"}, True, id="this name"),
        pytest.param(rule("get", "", ["pods"], ["a"]), {"name": "b"}, False, id="another name"),
        pytest.param(rule("get", "", ["pods"], ["a"]), {}, False, id="a name where none is asked for"),
        pytest.param(rule("get", "", ["pods"]), {"who": BOT}, True, id="a service account"),
        pytest.param(rule("get", "", ["pods"]), {"who": User("bob")}, False, id="another user"),
        pytest.param(rule("get", urls=["/metrics"]), {"path": "/metrics"}, True, id="a path"),
        pytest.param(rule("get", urls=["/healthz/*"]), {"path": "/healthz/etcd"}, True, id="all paths below"),
        pytest.param(rule("get", urls=["*"]), {"path": "/anything"}, True, id="all paths"),
        pytest.param(rule("get", urls=["/healthz"]), {"path": "/healthz/etcd"}, False, id="another path"),
        pytest.param(rule("get", "*", ["*"]), {"path": "/metrics"}, False, id="resources are no paths"),
    ],
)
def test_a_rule_allows(given, asked, allowed):
    assert allows(given, **asked) == allowed


def test_a_role_binding_holds_in_its_namespace_only():
    policy = compile_policy(
        [role("r", rule("get", "", ["pods"]), namespace="ns")],
        [binding("b", "Role", "r", group("team"), namespace="ns")],
    )

    assert policy.reason(Attributes(ALICE, "get", resource="pods", namespace="ns")) is not None
    assert policy.reason(Attributes(ALICE, "get", resource="pods", namespace="other")) is None
    assert policy.reason(Attributes(ALICE, "get", resource="pods")) is None


def test_a_role_binding_may_name_a_cluster_role():
    policy = compile_policy(
        [role("r", rule("get", "", ["pods"]))], [binding("b", "ClusterRole", "r", group("team"), namespace="ns")]
    )

    reason = policy.reason(Attributes(ALICE, "get", resource="pods", namespace="ns"))

    assert reason == 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to Group "team"'


def test_a_binding_to_a_role_that_is_missing_gives_nothing():
    policy = compile_policy([], [binding("b", "ClusterRole", "gone", user("alice"))])

    assert policy.reason(Attributes(ALICE, "get", resource="pods")) is None


def test_masters_may_do_everything_without_any_role():
    assert compile_policy([], []).reason(Attributes(User("root", ("system:masters",)), "delete", path="/x")) is not None


@pytest.mark.parametrize(
    ("who", "asked", "allowed"),
    [
        (ANONYMOUS, {"verb": "get", "path": "/healthz"}, True),
        (ANONYMOUS, {"verb": "get", "path": "/version"}, True),
        (ANONYMOUS, {"verb": "get", "path": "/apis"}, False),
        (ALICE, {"verb": "get", "path": "/apis/apps/v1"}, True),
        (ALICE, {"verb": "create", "group": "authorization.k8s.io", "resource": "selfsubjectaccessreviews"}, True),
        (ALICE, {"verb": "list", "resource": "secrets"}, False),
    ],
)
def test_what_everybody_may_do_from_the_start(who, asked, allowed):
    policy = compile_policy(cluster_roles(), cluster_role_bindings())

    assert (policy.reason(Attributes(who, **asked)) is not None) == allowed


def test_the_policy_is_compiled_again_only_when_something_changed():
    reads = []
    version = 1
    rbac = Rbac(lambda: version, lambda: (reads.append(version) or [], []))

    for _ in range(3):
        rbac.reason(Attributes(ALICE, "get", resource="pods"))
    version = 2
    rbac.reason(Attributes(ALICE, "get", resource="pods"))

    assert reads == [1, 2]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            Attributes(ALICE, "list", resource="pods", namespace="ns"),
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "ns"',
        ),
        (
            Attributes(ALICE, "patch", "kueue.x-k8s.io", "workloads", "status", "w", "ns"),
            'workloads.kueue.x-k8s.io "w" is forbidden: User "alice" cannot patch resource "workloads/status" in API'
            ' group "kueue.x-k8s.io" in the namespace "ns"',
        ),
        (
            Attributes(ALICE, "list", resource="nodes"),
            'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope',
        ),
        (Attributes(ALICE, "get", path="/metrics"), 'forbidden: User "alice" cannot get path "/metrics"'),
    ],
)
def test_who_may_not_is_told_what_exactly(asked, message):
    assert forbidden(asked).message == message


def test_what_was_asked_before_is_told_apart_by_all_that_counts():
    given = [rule("get", "", ["pods"], names=["a"]), rule("get", "", ["*/log"])]
    bindings = [binding("b", "ClusterRole", "r", user("alice")), binding("g", "ClusterRole", "r", group("ops"))]
    policy = compile_policy([role("r", *given)], bindings)
    bob = User("bob", ("ops",))
    questions = [
        (Attributes(ALICE, "get", resource="pods", name="a"), True),
        (Attributes(ALICE, "get", resource="pods", name="b"), False),
        (Attributes(ALICE, "get", resource="pods", subresource="log"), True),
        (Attributes(ALICE, "get", resource="pods/log"), False),
        (Attributes(ALICE, "list", resource="pods", name="a"), False),
        (Attributes(ALICE, "get", group="apps", resource="pods", name="a"), False),
        (Attributes(bob, "get", resource="pods", name="a"), True),
        (Attributes(User("bob", ("dev",)), "get", resource="pods", name="a"), False),
    ]

    for _ in range(2):
        assert [policy.reason(asked) is not None for asked, _ in questions] == [allowed for _, allowed in questions]


def test_of_many_sorts_of_questions_only_some_are_remembered(monkeypatch):
    monkeypatch.setattr(rbac, "MOST_FOUND", 3)
    policy = compile_policy([role("r", rule("get", "", ["pods"]))], [binding("b", "ClusterRole", "r", user("alice"))])

    for number in range(10):
        assert policy.reason(Attributes(ALICE, "get", resource="pods", namespace=f"n{number}")) is not None

    assert len(policy._found) <= 3
