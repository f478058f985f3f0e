"""The manifests fit together: names, references, order, and what a hardened cluster asks of a pod."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from fleetqueue import __version__
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE
from fleetqueue.api.usage_scores import SCORE_RESOURCE
from fleetqueue.cli.main import app
from fleetqueue.controllers.processes.settings import HubSettings, WorkerSettings
from fleetqueue.controllers.processes.settings_file import parse
from fleetqueue.runtime.leader_election import LeaseSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CLUSTER_SCOPED = {"Namespace", "ClusterRole", "ClusterRoleBinding", "ClusterManagementAddOn", "AddOnTemplate"}

Manifest = dict[str, Any]


def of_kind(objects: list[Manifest], *kinds: str) -> list[Manifest]:
    return [manifest for manifest in objects if manifest["kind"] in kinds]


def key(manifest: Manifest) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def pods(objects: list[Manifest]) -> list[Manifest]:
    return [deployment["spec"]["template"]["spec"] for deployment in of_kind(objects, "Deployment")]


def test_every_object_says_what_it_is_and_where(objects):
    for manifest in objects:
        assert manifest["apiVersion"], key(manifest)
        assert ("namespace" in manifest["metadata"]) == (manifest["kind"] not in CLUSTER_SCOPED), key(manifest)
        assert manifest["metadata"]["labels"]["app.kubernetes.io/name"] == "fleetqueue", key(manifest)


def test_no_rule_has_a_wildcard(objects):
    for role in of_kind(objects, "Role", "ClusterRole"):
        for rule in role["rules"]:
            assert not [word for words in rule.values() for word in words if "*" in word], key(role)


def test_secrets_are_never_granted_for_the_whole_hub(objects):
    for role in of_kind(objects, "ClusterRole"):
        assert not [rule for rule in role["rules"] if "secrets" in rule["resources"]], key(role)


def test_bindings_name_roles_and_accounts_that_exist(objects):
    known = {key(manifest) for manifest in objects}
    for binding in of_kind(objects, "RoleBinding", "ClusterRoleBinding"):
        reference = binding["roleRef"]
        namespace = binding["metadata"].get("namespace", "") if reference["kind"] == "Role" else ""
        assert (reference["kind"], namespace, reference["name"]) in known, key(binding)
        for subject in binding["subjects"]:
            is_ours = subject["name"].startswith("fleetqueue")
            assert not is_ours or (subject["kind"], subject["namespace"], subject["name"]) in known, key(binding)


def test_pods_use_an_account_and_settings_that_exist(objects):
    known = {key(manifest) for manifest in objects}
    for deployment in of_kind(objects, "Deployment"):
        namespace, pod = deployment["metadata"]["namespace"], deployment["spec"]["template"]["spec"]
        assert ("ServiceAccount", namespace, pod["serviceAccountName"]) in known
        for volume in pod["volumes"]:
            if "configMap" in volume:
                assert ("ConfigMap", namespace, volume["configMap"]["name"]) in known


def test_deployments_select_their_own_pods(objects):
    for deployment in of_kind(objects, "Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_pods_are_restricted(objects):
    for pod in pods(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_pods_have_probes_requests_and_a_place_for_temporary_files(objects):
    for pod in pods(objects):
        writable = {volume["name"] for volume in pod["volumes"] if "emptyDir" in volume}
        for container in pod["containers"]:
            ports = {port["name"] for port in container["ports"]}
            assert {"livenessProbe", "readinessProbe"} <= container.keys()
            assert container["livenessProbe"]["httpGet"]["port"] in ports
            assert container["readinessProbe"]["httpGet"]["port"] in ports
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]
            mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
            assert mounts["/tmp"] in writable


def test_two_replicas_stand_by_for_each_other(load):
    (deployment,) = load("kustomize/controller_deployment.yaml")

    assert deployment["spec"]["replicas"] == 2


def test_images_are_of_this_version(objects, load):
    (kustomization,) = load("kustomize/kustomization.yaml")
    images = {container["image"] for pod in pods(objects) for container in pod["containers"]}

    assert images == {f"fleetqueue:{__version__}"}
    assert kustomization["images"] == [{"name": "fleetqueue", "newTag": __version__}]


def test_pods_run_commands_with_options_that_exist(objects):
    commands = get_command(app).commands
    for pod in pods(objects):
        command, *options = pod["containers"][0]["args"]
        known = {name for parameter in commands[command].params for name in parameter.opts}
        assert {option.partition("=")[0] for option in options} <= known


def test_settings_in_config_maps_are_settings(objects):
    kinds = {"controller": HubSettings, "score-agent": WorkerSettings}
    config_maps = [each for each in of_kind(objects, "ConfigMap") if "settings.yaml" in each["data"]]
    assert config_maps
    for config_map in config_maps:
        kind = kinds[config_map["metadata"]["labels"]["app.kubernetes.io/component"]]
        assert parse(kind, yaml.safe_load(config_map["data"]["settings.yaml"]))


def test_names_are_those_that_the_code_uses(load):
    own = load("kustomize/rbac/controller_role_own_namespace.yaml")[0]
    kueue = load("kustomize/rbac/controller_role_kueue_system.yaml")[0]
    agent = load("kustomize/rbac/score_agent_hub_role.yaml")[0]

    assert own["metadata"]["namespace"] == NAMESPACE
    assert kueue["metadata"]["namespace"] == KUEUE_NAMESPACE
    assert [LeaseSettings().name] in [rule.get("resourceNames") for rule in own["rules"]]
    assert [SCORE_RESOURCE] in [rule.get("resourceNames") for rule in agent["rules"]]


def test_what_is_applied_first_is_not_needed_by_what_came_before(load):
    (kustomization,) = load("kustomize/kustomization.yaml")
    made: set[tuple[str, str, str]] = set()
    for path in kustomization["resources"]:
        for manifest in load(f"kustomize/{path}"):
            namespace = manifest["metadata"].get("namespace", "")
            assert namespace in ("", KUEUE_NAMESPACE) or ("Namespace", "", namespace) in made, path
            if "roleRef" in manifest:
                role = manifest["roleRef"]
                where = namespace if role["kind"] == "Role" else ""
                assert (role["kind"], where, role["name"]) in made, path
            made.add(key(manifest))


def test_every_file_is_applied_by_somebody(files, load):
    (kustomization,) = load("kustomize/kustomization.yaml")
    by_hand = {
        "kustomize/rbac/controller_role_cluster_namespace.yaml",
        "kustomize/rbac/score_agent_worker_cluster_role.yaml",
        "kustomize/score_agent.yaml",
        "ocm/score_agent_add_on.yaml",
    }
    by_hand |= {path for path in files if path.startswith("kustomize/monitoring/")}

    assert {f"kustomize/{path}" for path in kustomization["resources"]} | by_hand == set(files)


@pytest.fixture
def template(load) -> Manifest:
    return next(manifest for manifest in load("ocm/score_agent_add_on.yaml") if manifest["kind"] == "AddOnTemplate")


def test_the_add_on_gives_the_agent_the_same_rights_on_the_worker(template, load):
    (alone,) = load("kustomize/rbac/score_agent_worker_cluster_role.yaml")
    manifests = template["spec"]["agentSpec"]["workload"]["manifests"]

    assert [role["rules"] for role in of_kind(manifests, "ClusterRole")] == [alone["rules"]]


def test_the_add_on_gives_the_agent_the_hub_role_in_its_own_namespace_only(template, load):
    (role,) = load("kustomize/rbac/score_agent_hub_role.yaml")

    (registration,) = template["spec"]["registration"]
    (permission,) = registration["kubeClient"]["hubPermissions"]
    assert permission == {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role["metadata"]["name"]}}


def test_the_agent_may_see_the_add_on_that_its_scores_belong_to(template, load):
    (role,) = load("kustomize/rbac/score_agent_hub_role.yaml")
    (add_on,) = of_kind(load("ocm/score_agent_add_on.yaml"), "ClusterManagementAddOn")
    (agent,) = pods(template["spec"]["agentSpec"]["workload"]["manifests"])

    name = add_on["metadata"]["name"]
    assert template["spec"]["addonName"] == name
    assert f"--set=scores.add_on={name}" in agent["containers"][0]["args"]
    assert [name] in [rule.get("resourceNames") for rule in role["rules"]]


def test_the_add_on_manager_may_bind_that_role_and_no_other(load):
    (role,) = load("kustomize/rbac/score_agent_hub_role.yaml")
    (binder,) = of_kind(load("ocm/score_agent_add_on.yaml"), "ClusterRole")

    (rule,) = binder["rules"]
    assert rule["verbs"] == ["bind"]
    assert rule["resourceNames"] == [role["metadata"]["name"]]


def test_the_add_on_runs_the_agent_as_the_plain_manifests_do(template, load):
    (alone,) = pods(load("kustomize/score_agent.yaml"))
    (added,) = pods(template["spec"]["agentSpec"]["workload"]["manifests"])

    (mine,), (theirs,) = alone["containers"], added["containers"]
    for field in ("image", "ports", "resources", "securityContext", "livenessProbe", "readinessProbe"):
        assert theirs[field] == mine[field], field


def test_the_image_is_built_with_the_locked_tools():
    makefile, dockerfile = (ROOT / "Makefile").read_text(), (DEPLOY / "Dockerfile").read_text()

    pinned = re.search(r"uv==[\d.]+", makefile)
    assert pinned
    assert pinned[0] in dockerfile
    assert "USER 65532" in dockerfile
