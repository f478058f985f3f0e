"""The chart: real Helm lints and renders it, values do what they say, and the plain manifests are made of it."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from fleetqueue import __version__
from fleetqueue.assembly.settings import HubSettings, WorkerSettings
from fleetqueue.assembly.settings_file import load as load_settings
from fleetqueue.assembly.settings_file import parse

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "charts" / "fleetqueue"
NAMESPACE = "fleetqueue-system"


@pytest.fixture
def render(helm):
    """`render("image.tag=1")` returns what Helm makes of the chart with these values."""

    def render(*values, release="fleetqueue", namespace=NAMESPACE, fails=False):
        given = [
            word for value in values for word in ("--set-json" if "=[" in value or "={" in value else "--set", value)
        ]
        command = [helm, "template", release, CHART, "--namespace", namespace, *given]
        result = subprocess.run(command, capture_output=True, text=True)
        assert bool(result.returncode) is fails, result.stderr
        return result.stderr if fails else [each for each in yaml.safe_load_all(result.stdout) if each]

    return render


def only(objects, kind, name=""):
    (found,) = [each for each in objects if each["kind"] == kind and name in each["metadata"]["name"]]
    return found


def kinds(objects):
    return {each["kind"] for each in objects}


def pod(objects, name=""):
    return only(objects, "Deployment", name)["spec"]["template"]["spec"]


def agent_pod(objects):
    return pod(only(objects, "AddOnTemplate")["spec"]["agentSpec"]["workload"]["manifests"])


def settings_of(objects):
    return yaml.safe_load(only(objects, "ConfigMap", "controller")["data"]["settings.yaml"])


def test_the_plain_manifests_are_what_the_chart_renders(helm, renderer):
    there = {name: (DEPLOY / name).read_text() for name in renderer.FILES}

    assert renderer.rendered(helm) == there, "run `make manifests`"


def test_every_plain_manifest_is_rendered(files, renderer):
    assert set(files) == set(renderer.FILES)


def test_the_chart_is_of_this_version():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["appVersion"] == __version__
    assert chart["version"].replace("-dev.", ".dev") == __version__


def test_helm_has_nothing_to_complain_about(helm):
    result = subprocess.run([helm, "lint", "--strict", CHART], capture_output=True, text=True)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "[WARNING]" not in result.stdout


def leaves(values, prefix=""):
    """Yield every value that is no section."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def test_the_schema_knows_every_value():
    schema = json.loads((CHART / "values.schema.json").read_text())
    for path in leaves(yaml.safe_load((CHART / "values.yaml").read_text())):
        at = schema
        for key in path.split("."):
            if "properties" not in at:
                break
            assert at["additionalProperties"] is False, path
            at = at["properties"][key]


def test_the_readme_lists_every_value():
    listed = [
        re.findall(r"`([^`]+)`", row) for row in re.findall(r"^\| (`[^|]*) \|", (CHART / "README.md").read_text(), re.M)
    ]
    known = set()
    for first, *others in listed:
        known |= {first, *(first.rpartition(".")[0] + other if other.startswith(".") else other for other in others)}

    text = (CHART / "README.md").read_text()
    for path in leaves(yaml.safe_load((CHART / "values.yaml").read_text())):
        sections = [path.rsplit(".", n)[0] for n in range(path.count(".") + 1)]
        assert any(section in known for section in sections) or f"`.{path.split('.')[2]}`" in text, path


@pytest.mark.parametrize(
    ("value", "named"),
    [
        pytest.param("contoller.replicas=3", "contoller", id="a misspelt section"),
        pytest.param("controller.replica=3", "replica", id="a misspelt value"),
        pytest.param("controller.replicas=many", "replicas", id="no number"),
        pytest.param("image.digest=latest", "digest", id="no digest"),
        pytest.param("image.pullPolicy=Sometimes", "pullPolicy", id="none of the choices"),
    ],
)
def test_a_wrong_value_is_refused(render, value, named):
    assert named in render(value, fails=True)


def test_without_values_nothing_is_made_that_not_every_hub_can_serve(render):
    objects = render()

    assert kinds(objects) == {
        "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "NetworkPolicy",
        "PodDisruptionBudget", "Role", "RoleBinding", "ServiceAccount",
    }  # fmt: skip


def test_every_object_has_the_usual_labels_and_the_release_as_its_manager(render):
    objects = render("scoreAgent.addOn.enabled=true", "metrics.serviceMonitor.enabled=true", "commonLabels.team=batch")

    for each in objects:
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "fleetqueue"
        assert labels["app.kubernetes.io/instance"] == "fleetqueue"
        assert labels["app.kubernetes.io/managed-by"] == "Helm", "fleetqueue there marks what the controller made"
        assert labels["helm.sh/chart"].startswith("fleetqueue-0.")
        assert labels["team"] == "batch"


@pytest.mark.parametrize(
    ("values", "image"),
    [
        pytest.param([], f"fleetqueue:{__version__}", id="this version"),
        pytest.param(
            ["image.repository=r.example.com/fq", "image.tag=1.0"], "r.example.com/fq:1.0", id="repository and tag"
        ),
        pytest.param(
            ["image.repository=r.example.com/fq", "image.tag=1.0", f"image.digest=sha256:{'0' * 64}"],
            f"r.example.com/fq@sha256:{'0' * 64}",
            id="a digest wins",
        ),
    ],
)
def test_all_pods_run_the_image_that_is_named(render, values, image):
    objects = render("scoreAgent.addOn.enabled=true", *values)

    assert pod(objects)["containers"][0]["image"] == image
    assert agent_pod(objects)["containers"][0]["image"] == image


@pytest.mark.parametrize(
    ("values", "image"),
    [
        pytest.param(["scoreAgent.image.repository=w.example.com/fq"], "w.example.com/fq:1.0", id="another registry"),
        pytest.param(["scoreAgent.image.tag=1.1"], "r.example.com/fq:1.1", id="another tag"),
        pytest.param(
            ["scoreAgent.image.tag=1.1", f"image.digest=sha256:{'0' * 64}"],
            "r.example.com/fq:1.1",
            id="a digest of the controller's image is not the agent's",
        ),
    ],
)
def test_the_agent_may_have_its_own_image(render, values, image):
    objects = render("scoreAgent.addOn.enabled=true", "image.repository=r.example.com/fq", "image.tag=1.0", *values)

    assert agent_pod(objects)["containers"][0]["image"] == image


def test_the_rights_follow_the_namespaces(render):
    objects = render("kueue.namespace=batch-system", namespace="fq")

    namespaces = {each["metadata"]["namespace"] for each in objects if each["kind"] in ("Role", "RoleBinding")}
    assert namespaces == {"batch-system", "fq"}
    assert settings_of(objects)["kueue_namespace"] == "batch-system"
    assert settings_of(objects)["namespace"] == "fq"
    for binding in (each for each in objects if "subjects" in each):
        assert [subject["namespace"] for subject in binding["subjects"]] == ["fq"]


def test_in_kueues_own_namespace_it_is_refused(render):
    assert "namespace of its own" in render(namespace="kueue-system", fails=True)


def test_another_name_is_also_that_of_the_lease_which_it_may_take(render):
    objects = render("fullnameOverride=other")

    role = only([each for each in objects if each["metadata"].get("namespace") == NAMESPACE], "Role")
    assert settings_of(objects)["leader_election"]["name"] == "other-controller"
    assert ["other-controller"] in [rule.get("resourceNames") for rule in role["rules"]]
    assert only(objects, "Deployment")["metadata"]["name"] == "other-controller"


def test_settings_are_merged_and_a_change_rolls_the_pods(render):
    before, after = render(), render("controller.settings.placement_admission.drain_timeout=600")

    settings = settings_of(after)
    assert settings["probes"]["host"] == "0.0.0.0"
    assert parse(HubSettings, settings).placement_admission.drain_timeout == 600
    checksums = [
        only(each, "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
        for each in (before, after)
    ]
    assert checksums[0] != checksums[1]


def test_settings_of_the_agent_become_flags(render):
    objects = render(
        "scoreAgent.addOn.enabled=true",
        "scoreAgent.settings.scores.scale.gpu=64",
        "scoreAgent.settings.logs.level=debug",
    )

    flags = [word.removeprefix("--set=") for word in agent_pod(objects)["containers"][0]["args"] if "--set=" in word]
    settings = load_settings(WorkerSettings, None, [*flags, 'cluster="cluster1"'])
    assert settings.scores.scale.gpu == 64
    assert settings.logs.level == "debug"
    assert settings.scores.add_on == "fleetqueue-score-agent"


def test_tokens_of_named_clusters_may_be_read_and_no_others(render):
    objects = render('managedServiceAccounts.clusters=["cluster1","cluster2"]')

    readers = [
        each for each in objects if each["kind"] == "Role" and each["metadata"]["namespace"].startswith("cluster")
    ]
    assert {(each["metadata"]["namespace"], each["rules"][0]["resourceNames"][0]) for each in readers} == {
        ("cluster1", "kueue-admin-cluster1"),
        ("cluster2", "kueue-admin-cluster2"),
    }


def test_on_a_worker_only_the_agent_is_made(render):
    objects = render(
        "controller.enabled=false", "scoreAgent.standalone.enabled=true", "scoreAgent.standalone.cluster=c1"
    )

    assert {each["metadata"]["name"] for each in objects} == {"fleetqueue-score-agent"}
    assert "--cluster=c1" in pod(objects)["containers"][0]["args"]


def test_an_agent_without_a_cluster_is_refused(render):
    wanted = "scoreAgent.standalone.enabled=true"

    assert "scoreAgent.standalone.cluster" in render("controller.enabled=false", wanted, fails=True)


def test_where_and_how_pods_run_can_be_said(render):
    objects = render(
        "controller.priorityClassName=system-cluster-critical",
        "controller.nodeSelector.pool=infra",
        'controller.tolerations=[{"operator":"Exists"}]',
        'controller.topologySpreadConstraints=[{"topologyKey":"zone"}]',
        'imagePullSecrets=[{"name":"pull"}]',
        "controller.resources.limits.memory=1Gi",
    )

    spec = pod(objects)
    assert spec["priorityClassName"] == "system-cluster-critical"
    assert spec["nodeSelector"] == {"pool": "infra"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["topologySpreadConstraints"] == [{"topologyKey": "zone"}]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}


def test_only_health_and_metrics_can_be_asked_for(render):
    peers = 'controller.networkPolicy.metricsFrom=[{"namespaceSelector":{}}]'
    egress = 'controller.networkPolicy.egress=[{"ports":[{"port":6443}]}]'

    wide, narrow = only(render(), "NetworkPolicy")["spec"], only(render(peers, egress), "NetworkPolicy")["spec"]

    assert wide["ingress"] == [{"ports": [{"protocol": "TCP", "port": "probes"}]}]
    assert wide["policyTypes"] == ["Ingress"]
    assert narrow["ingress"][0]["from"] == [{"namespaceSelector": {}}]
    assert narrow["policyTypes"] == ["Ingress", "Egress"]


def test_prometheus_finds_the_metrics(render):
    objects = render("metrics.serviceMonitor.enabled=true")

    service, monitor = only(objects, "Service"), only(objects, "ServiceMonitor")
    labels = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in pod(objects)["containers"][0]["ports"]}
    assert service["spec"]["selector"].items() <= labels.items()
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [port["targetPort"] for port in service["spec"]["ports"]] == sorted(ports)
    assert [end["port"] for end in monitor["spec"]["endpoints"]] == [port["name"] for port in service["spec"]["ports"]]
