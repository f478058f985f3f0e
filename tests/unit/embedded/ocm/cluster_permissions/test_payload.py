"""The roles and bindings that a ClusterPermission stands for."""

import pytest

from fleetqueue.embedded.ocm.cluster_permissions.payload import BuildProblem, References, looked_for, manifests

from .objects import (
    EU,
    GROUP,
    MANAGED,
    NAME,
    OWN_ROLE,
    RULES,
    SERVICE_ACCOUNT,
    USER,
    VIEW,
    namespace,
    permission,
)

AROUND = References(
    accounts=frozenset({"app"}),
    add_on_namespace="agents",
    namespaces=[namespace("a", region="eu"), namespace("b", region="us"), namespace("c", region="eu")],
)
ADMIN = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "admin"}


def summary(manifest):
    """Say an object in one line: its kind, name, and what it binds to whom."""
    metadata = manifest["metadata"]
    where = "/".join(metadata[part] for part in ("namespace", "name") if part in metadata)
    bound = manifest.get("roleRef")
    whom = ",".join(
        "/".join(filter(None, (each["kind"], each.get("namespace", ""), each["name"])))
        for each in manifest.get("subjects", ())
    )
    return f"{manifest['kind']} {where}" + (f" -> {bound['kind']} {bound['name']}: {whom}" if bound else "")


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        pytest.param(
            {"clusterRole": {"rules": RULES}, "clusterRoleBinding": {"subject": USER}},
            [f"ClusterRole {NAME}", f"ClusterRoleBinding {NAME} -> ClusterRole {NAME}: User/ann"],
            id="a role for the whole cluster and its binding",
        ),
        pytest.param(
            {"clusterRoleBinding": {"subject": USER, "name": "other", "roleRef": VIEW}},
            ["ClusterRoleBinding other -> ClusterRole view: User/ann"],
            id="a binding of another name to a role that is there",
        ),
        pytest.param(
            {"clusterRoleBinding": {"subject": USER, "subjects": [GROUP, SERVICE_ACCOUNT]}},
            [f"ClusterRoleBinding {NAME} -> ClusterRole {NAME}: Group/team,ServiceAccount/default/robot"],
            id="several subjects win over one",
        ),
        pytest.param(
            {
                "clusterRoleBinding": {"subject": USER},
                "clusterRoleBindings": [{"subject": GROUP, "name": "x"}, {"subject": USER, "name": "y"}],
            },
            [
                f"ClusterRoleBinding x -> ClusterRole {NAME}: Group/team",
                f"ClusterRoleBinding y -> ClusterRole {NAME}: User/ann",
            ],
            id="several bindings win over one",
        ),
        pytest.param(
            {"clusterRoleBinding": {"subject": MANAGED}},
            [f"ClusterRoleBinding {NAME} -> ClusterRole {NAME}: ServiceAccount/agents/app"],
            id="a managed account is what it is on the worker",
        ),
        pytest.param(
            {
                "roles": [{"namespace": "n", "rules": RULES}],
                "roleBindings": [{"namespace": "n", "subject": USER, "roleRef": {"kind": "Role"}}],
            },
            [f"Role n/{NAME}", f"RoleBinding n/{NAME} -> Role {NAME}: User/ann"],
            id="a role in a namespace and its binding",
        ),
        pytest.param(
            {"roleBindings": [{"namespace": "n", "name": "z", "subject": USER, "roleRef": ADMIN}]},
            ["RoleBinding n/z -> ClusterRole admin: User/ann"],
            id="a binding in a namespace to a role that is there",
        ),
        pytest.param(
            {
                "roles": [{"namespaceSelector": EU, "rules": RULES}],
                "roleBindings": [{"namespaceSelector": EU, "name": "z", "subject": USER, "roleRef": ADMIN}],
            },
            [
                f"Role a/{NAME}",
                f"Role c/{NAME}",
                f"RoleBinding a/{NAME} -> ClusterRole {NAME}: User/ann",
                f"RoleBinding c/{NAME} -> ClusterRole {NAME}: User/ann",
            ],
            id="in namespaces by their labels, another name or role does not count",
        ),
        pytest.param(
            {
                "roleBindings": [
                    {"namespaceSelector": {"matchLabels": {"region": "no"}}, "subject": USER, "roleRef": ADMIN}
                ]
            },
            [],
            id="no namespace has such labels",
        ),
    ],
)
def test_what_is_made(spec, made):
    assert [summary(each) for each in manifests(permission(**spec), AROUND)] == made


@pytest.mark.parametrize(
    ("spec", "references", "why"),
    [
        pytest.param(
            {"clusterRoleBinding": {"subject": MANAGED}},
            References(add_on_namespace="agents"),
            'ManagedServiceAccount.authentication.open-cluster-management.io "app" not found',
            id="the managed account is not there",
        ),
        pytest.param(
            {"clusterRoleBinding": {"subject": MANAGED}},
            References(accounts=frozenset({"app"})),
            'ManagedClusterAddOn.addon.open-cluster-management.io "managed-serviceaccount" not found',
            id="its add-on is not there",
        ),
        pytest.param(
            {"roles": [{"rules": RULES}]},
            AROUND,
            "both Role Namespace and NamespaceSelector cannot be nil and empty",
            id="a role without a namespace",
        ),
        pytest.param(
            {"roles": [{"namespace": "n", "namespaceSelector": EU, "rules": RULES}]},
            AROUND,
            "both Role Namespace and NamespaceSelector cannot populated at the same time",
            id="a role with both forms of a namespace",
        ),
        pytest.param(
            {"roleBindings": [{"subject": USER, "roleRef": ADMIN}]},
            AROUND,
            "both RoleBinding Namespace and NamespaceSelector cannot be nil and empty",
            id="a binding without a namespace",
        ),
        pytest.param(
            {"roleBindings": [{"namespace": "n", "subject": USER, "roleRef": {"kind": "Role", "name": "x"}}]},
            AROUND,
            "the RoleBinding for Namespace n missing APIGroup for the RoleRef",
            id="a role without its group",
        ),
        pytest.param(
            {"roleBindings": [{"namespace": "n", "subject": USER, "roleRef": {"kind": "Role", "apiGroup": "x"}}]},
            AROUND,
            "the RoleBinding for Namespace n missing Name for the RoleRef",
            id="a role without its name",
        ),
        pytest.param(
            {"roles": [{"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}, "rules": RULES}]},
            AROUND,
            '"Has" is not a valid label selector operator',
            id="a selector that makes no sense",
        ),
    ],
)
def test_what_cannot_be_made(spec, references, why):
    with pytest.raises(BuildProblem) as problem:
        manifests(permission(**spec), references)

    assert str(problem.value) == why


def test_rules_and_subjects_are_written_as_they_came():
    role, binding = manifests(
        permission(clusterRole={"rules": RULES}, clusterRoleBinding={"subjects": [USER, SERVICE_ACCOUNT]}), AROUND
    )

    assert role["rules"] == RULES
    assert binding["subjects"] == [USER, SERVICE_ACCOUNT]
    assert binding["roleRef"] == OWN_ROLE


def test_each_role_that_bindings_name_is_looked_for_once():
    own = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "x"}
    wanted = permission(
        clusterRoleBinding={"subject": USER, "roleRef": VIEW},
        roleBindings=[
            {"namespace": "n", "subject": USER, "roleRef": own},
            {"namespace": "m", "subject": USER, "roleRef": own},
            {"namespace": "n", "subject": GROUP, "roleRef": own},
            {"namespace": "n", "subject": USER, "roleRef": VIEW},
        ],
    )

    assert [summary(each) for each in looked_for(wanted)] == ["ClusterRole view", "Role n/x", "Role m/x"]
