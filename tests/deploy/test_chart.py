"""The chart: real Helm lints and renders it, values do what they say, and the plain manifests are made of it."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from fleetqueue import __version__
from fleetqueue.controllers.processes.settings import HubSettings, WorkerSettings
from fleetqueue.controllers.processes.settings_file import load as load_settings
from fleetqueue.controllers.processes.settings_file import parse

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


def on_worker(objects):
    return only(objects, "AddOnTemplate")["spec"]["agentSpec"]["workload"]["manifests"]


def agent_pod(objects):
    return pod(on_worker(objects))


def pod_metadata(objects):
    return only(objects, "Deployment")["spec"]["template"]["metadata"]


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


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        pytest.param("kueue_namespace=other", "kueue.namespace", id="where Kueue runs"),
        pytest.param("namespace=other", "--namespace", id="its own namespace"),
        pytest.param("leader_election.name=other", "fullnameOverride", id="its Lease"),
        pytest.param("leader_election=null", "fullnameOverride", id="a Lease without a name"),
    ],
)
def test_a_setting_that_contradicts_the_rights_is_refused(render, setting, instead):
    said = render(f"controller.settings.{setting}", fails=True)

    assert f"controller.settings.{setting.partition('=')[0]}" in said
    assert instead in said


def test_a_setting_that_says_the_same_as_the_rights_is_not_refused(render):
    objects = render(
        "controller.settings.kueue_namespace=kueue-system",
        f"controller.settings.namespace={NAMESPACE}",
        "controller.settings.leader_election.name=fleetqueue-controller",
        "controller.settings.leader_election.enabled=false",
    )

    assert settings_of(objects) == {
        **settings_of(render()),
        "leader_election": {"name": "fleetqueue-controller", "enabled": False},
    }


@pytest.mark.parametrize(
    ("given", "port"),
    [
        pytest.param([], 8080, id="nothing said"),
        pytest.param([9090], 9090, id="another port"),
        pytest.param([0], 8080, id="any free port"),
    ],
)
def test_the_port_of_the_pods_follows_the_settings(render, given, port):
    settings = [f"{part}.settings.probes.port={number}" for part in ("controller", "scoreAgent") for number in given]
    objects = render("scoreAgent.addOn.enabled=true", *settings)

    for spec in (pod(objects), agent_pod(objects)):
        assert spec["containers"][0]["ports"] == [{"name": "probes", "containerPort": port}]
    assert pod_metadata(objects)["annotations"]["prometheus.io/port"] == str(port)
    assert [settings_of(objects)["probes"].get("port")] == (given or [None])


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


@pytest.mark.parametrize("is_on", [True, False])
def test_without_the_fence_the_agent_may_only_look(render, is_on):
    objects = render("scoreAgent.addOn.enabled=true", f"scoreAgent.fence.enabled={str(is_on).lower()}")

    verbs = {verb for rule in only(on_worker(objects), "ClusterRole")["rules"] for verb in rule["verbs"]}
    hub_rules = only(objects, "ClusterRole", "score-agent-hub")["rules"]
    flags = [word.removeprefix("--set=") for word in agent_pod(objects)["containers"][0]["args"] if "--set=" in word]
    settings = load_settings(WorkerSettings, None, flags)
    assert (verbs == {"list", "watch"}) is not is_on
    assert ("Role" in kinds(on_worker(objects))) is is_on
    assert any(rule["resources"] == ["leases"] for rule in hub_rules) is is_on
    assert (settings.fence.enabled, settings.namespace) == (is_on, "open-cluster-management-agent-addon")


def test_an_upgrade_of_the_agent_never_has_two_of_them(render):
    objects = render("scoreAgent.addOn.enabled=true")

    assert only(on_worker(objects), "Deployment")["spec"]["strategy"] == {"type": "Recreate"}


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


def test_where_and_how_agents_run_can_be_said(render):
    values = [
        "scoreAgent.priorityClassName=batch-critical",
        "scoreAgent.nodeSelector.pool=infra",
        'scoreAgent.tolerations=[{"operator":"Exists"}]',
    ]
    alone = ["controller.enabled=false", "scoreAgent.standalone.enabled=true", "scoreAgent.standalone.cluster=c1"]

    for spec in (agent_pod(render("scoreAgent.addOn.enabled=true", *values)), pod(render(*alone, *values))):
        assert spec["priorityClassName"] == "batch-critical"
        assert spec["nodeSelector"] == {"pool": "infra"}
        assert spec["tolerations"] == [{"operator": "Exists"}]


def test_each_part_has_its_environment_variables(render):
    objects = render(
        "scoreAgent.addOn.enabled=true",
        'controller.env=[{"name":"HTTPS_PROXY","value":"http://hub:3128"}]',
        'scoreAgent.env=[{"name":"HTTPS_PROXY","value":"http://worker:3128"}]',
    )

    assert pod(objects)["containers"][0]["env"] == [{"name": "HTTPS_PROXY", "value": "http://hub:3128"}]
    assert agent_pod(objects)["containers"][0]["env"] == [{"name": "HTTPS_PROXY", "value": "http://worker:3128"}]
    assert "env" not in pod(render())["containers"][0]


def selectors(objects):
    """Return what each object selects the controller's pods by."""
    terms = pod(objects)["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    return [
        only(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        only(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        only(objects, "Service")["spec"]["selector"],
        *(term["podAffinityTerm"]["labelSelector"]["matchLabels"] for term in terms),
    ]


def test_two_releases_in_one_namespace_select_their_own_pods(render):
    values = ("metrics.serviceMonitor.enabled=true", "scoreAgent.addOn.enabled=true")
    one, other = render(*values, release="one"), render(*values, release="other")

    for selector in selectors(one):
        assert selector.items() <= pod_metadata(one)["labels"].items()
        assert not selector.items() <= pod_metadata(other)["labels"].items()
    services, monitor = (
        [only(each, "Service")["metadata"]["labels"] for each in (one, other)],
        only(one, "ServiceMonitor"),
    )
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    assert [wanted <= labels.items() for labels in services] == [True, False]
    agent = only(on_worker(one), "Deployment")["spec"]["selector"]["matchLabels"]
    assert agent.items() <= pod_metadata(on_worker(one))["labels"].items()
    assert not agent.items() <= pod_metadata(on_worker(other))["labels"].items()


def test_common_labels_reach_the_pods_and_no_selector(render):
    values = ("metrics.serviceMonitor.enabled=true", "scoreAgent.addOn.enabled=true")
    objects = render(*values, "commonLabels.team=batch", "commonLabels.stage=test", "controller.podLabels.stage=live")

    assert pod_metadata(objects)["labels"].items() >= {"team": "batch", "stage": "live"}.items()
    for each in (*on_worker(objects), {"metadata": pod_metadata(on_worker(objects))}):
        assert each["metadata"]["labels"].items() >= {"team": "batch", "stage": "test"}.items()
    assert selectors(objects) == selectors(render(*values))
    agents = [only(on_worker(each), "Deployment")["spec"]["selector"] for each in (objects, render(*values))]
    assert agents[0] == agents[1]


def test_own_labels_do_not_take_pods_from_their_selector(render):
    objects = render("controller.podLabels.app\\.kubernetes\\.io/component=other")

    selector = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod_metadata(objects)["labels"].items()


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


def scraped(objects):
    return {
        key: value for key, value in pod_metadata(objects)["annotations"].items() if key.startswith("prometheus.io/")
    }


def test_pods_are_scraped_by_annotation_or_by_service_monitor_and_not_twice(render):
    own, monitor = "controller.podAnnotations.owner=batch", "metrics.serviceMonitor.enabled=true"

    assert scraped(render(own)) == {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
    assert scraped(render(own, monitor)) == {}
    for values in ([own], [own, monitor]):
        assert pod_metadata(render(*values))["annotations"]["owner"] == "batch"


def test_own_scrape_annotations_win(render):
    off = 'controller.podAnnotations={"prometheus.io/scrape":"false"}'

    assert scraped(render(off))["prometheus.io/scrape"] == "false"
    assert scraped(render(off, "metrics.serviceMonitor.enabled=true")) == {"prometheus.io/scrape": "false"}


def test_the_plain_manifests_are_not_scraped_twice(load):
    (deployment,) = load("kustomize/controller_deployment.yaml")

    assert load("kustomize/monitoring/controller_service_monitor.yaml")
    assert "annotations" not in deployment["spec"]["template"]["metadata"]
