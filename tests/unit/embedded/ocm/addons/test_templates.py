"""Of what the agent of an add-on is made."""

import pytest

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.embedded.ocm.addons.templates import install_namespace, mirrored, rendered

from .objects import NAME, deployment, deployment_config, kube_client, template

THIS = addon.ManagedClusterAddOn.view({"metadata": {"name": NAME, "namespace": "c1", "uid": "u"}})


def objects(*manifests, registration=None, **config):
    made = addon.AddOnTemplate.view(template(*manifests, registration=registration))
    return rendered(made, THIS, addon.AddOnDeploymentConfig.view(deployment_config(**config)).spec if config else None)


def pod(obj):
    return obj["spec"]["template"]["spec"]


def test_every_container_knows_its_cluster_and_its_way_to_the_hub():
    [made] = objects(deployment(env=[{"name": "OWN", "value": "1"}]), registration=kube_client())

    [container] = pod(made)["containers"]
    assert [(each["name"], each["value"]) for each in container["env"]] == [
        ("OWN", "1"),
        ("HUB_KUBECONFIG", "/managed/hub-kubeconfig/kubeconfig"),
        ("CLUSTER_NAME", "c1"),
    ]
    assert container["volumeMounts"] == [{"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"}]
    assert pod(made)["volumes"] == [{"name": "hub-kubeconfig", "secret": {"secretName": "hello-hub-kubeconfig"}}]


def test_a_deployment_has_the_empty_fields_that_go_writes():
    [made] = objects(deployment())

    assert (made["status"], made["spec"]["strategy"], pod(made)["containers"][0]["resources"]) == ({}, {}, {})


def test_the_name_of_the_cluster_cannot_be_chosen_but_the_path_of_the_kubeconfig_can():
    values = [{"name": "CLUSTER_NAME", "value": "other"}, {"name": "HUB_KUBECONFIG", "value": "/elsewhere"}]

    [made] = objects(deployment(), registration=kube_client(), customizedVariables=values)

    env = {each["name"]: each["value"] for each in pod(made)["containers"][0]["env"]}
    assert (env["CLUSTER_NAME"], env["HUB_KUBECONFIG"]) == ("c1", "/elsewhere")


def test_a_configuration_says_where_pods_run_what_they_use_and_what_their_proxy_is():
    placed = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "t", "operator": "Exists"}]}
    used = [{"containerID": "deployments:*:main", "resources": {"requests": {"cpu": "1"}}}]
    proxy = {"httpsProxy": "https://proxy", "noProxy": "local", "caBundle": "UEVN"}

    made, bundle = objects(deployment(), nodePlacement=placed, resourceRequirements=used, proxyConfig=proxy)

    [container] = pod(made)["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert pod(made)["nodeSelector"] == {"a": "b"}
    assert pod(made)["tolerations"] == [{"key": "t", "operator": "Exists"}]
    assert container["resources"] == {"requests": {"cpu": "1"}}
    assert env["HTTPS_PROXY"] == env["https_proxy"] == "https://proxy"
    assert env["CA_BUNDLE_FILE_PATH"] == "/managed/proxy-ca/ca-bundle.crt"
    assert bundle["data"] == {"ca-bundle.crt": "PEM"}


def test_everything_moves_into_the_namespace_of_the_agent():
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "x"},
        "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "default"}],
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}

    moved = objects(deployment(), binding, namespace, agentInstallNamespace="mine")

    assert moved[0]["metadata"]["namespace"] == "mine"
    assert moved[1]["subjects"][0]["namespace"] == "mine"
    assert moved[2]["metadata"]["name"] == "mine"


@pytest.mark.parametrize(
    ("registries", "image"),
    [
        pytest.param([], "quay.io/a/b:1", id="as it is"),
        pytest.param([("quay.io/a", "example.com/m")], "example.com/m/b:1", id="from a mirror"),
        pytest.param([("", "example.com")], "example.com/b:1", id="everything from a mirror"),
        pytest.param([("other.io", "example.com")], "quay.io/a/b:1", id="a mirror of others"),
        pytest.param([("quay.io", "one"), ("quay.io/a", "two/")], "two/b:1", id="the last of two mirrors"),
    ],
)
def test_images(registries, image):
    mirrors = [addon.ImageMirror(source=source, mirror=mirror) for source, mirror in registries]

    assert mirrored("quay.io/a/b:1", mirrors) == image


def test_an_agent_runs_where_its_first_deployment_is():
    daemon = {**deployment(namespace="second"), "kind": "DaemonSet"}
    made = addon.AddOnTemplate.view(template(daemon, deployment(namespace="first")))

    assert install_namespace(made, None) == "first"
    assert install_namespace(made, addon.DeploymentConfigSpec(agent_install_namespace="mine")) == "mine"
