"""The objects of an add-on's agent on one cluster: its template, filled in and decorated.

Values stand in the manifests as `{{NAME}}`; one that nobody gives is empty. Deployments and DaemonSets also get the
values as environment, the credentials for the hub as files, and what the deployment configuration says of pods.

Mirrors: OCM pkg/addon/templateagent/{template_agent,values,decorator}.go
"""

import base64
import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.scheme import Manifest

KUBECONFIG_FOLDER: Final = "/managed/hub-kubeconfig"
PROXY_FOLDER: Final = "/managed/proxy-ca"
PROXY_FILE: Final = "ca-bundle.crt"
_VALUE: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_COUNTS: Final = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_EMPTY: Final[dict[str, tuple[str, Manifest]]] = {
    "deployments": ("strategy", {}),
    "daemonsets": ("updateStrategy", dict.fromkeys(_COUNTS, 0)),
}
"""The strategy of each kind, and its status before anything happened."""
_WORKLOADS: Final = {("apps/v1", "Deployment"): "deployments", ("apps/v1", "DaemonSet"): "daemonsets"}


def rendered(
    template: addon.AddOnTemplate,
    this: addon.ManagedClusterAddOn,
    config: addon.DeploymentConfigSpec | None,
    cluster_registries: Sequence[addon.ImageMirror] = (),
) -> list[Manifest]:
    """Return the objects; raises ValueError where a filled-in manifest is no JSON any more."""
    settings = config or addon.DeploymentConfigSpec()
    registries = settings.registries or tuple(cluster_registries)
    default = {"HUB_KUBECONFIG": f"{KUBECONFIG_FOLDER}/kubeconfig"} if template.spec.registration else {}
    built_in = _built_in(this, settings)
    values = {**default, **{item.name: item.value for item in settings.customized_variables}, **built_in}
    preset = {name: values[name] for name in (*default, *built_in)}
    objects = [_filled_in(manifest, values) for manifest in template.manifests]
    for item in objects:
        kind = _WORKLOADS.get((item["apiVersion"], item["kind"]))
        if kind is not None:
            _decorate(item, kind, this.name, template, preset, settings, registries)
    if settings.proxy_config.ca_bundle:
        objects.append(_proxy_config_map(this.name, settings.proxy_config))
    return [_moved(item, settings.agent_install_namespace) for item in objects]


def install_namespace(template: addon.AddOnTemplate, config: addon.DeploymentConfigSpec | None) -> str:
    """Return where the agent runs: as the configuration says, or else where its first Deployment or DaemonSet is."""
    if config is not None and config.agent_install_namespace:
        return config.agent_install_namespace
    for kind in _WORKLOADS:
        for manifest in template.manifests:
            if (manifest["apiVersion"], manifest["kind"]) == kind and manifest["metadata"].get("namespace"):
                return str(manifest["metadata"]["namespace"])
    return addon.INSTALL_NAMESPACE


def secret_name(add_on: str, signer: str) -> str:
    """Return the secret in which the agent finds its certificate of a signer of its own."""
    return f"{add_on}-{signer.replace('/', '-')}-client-cert"


def kubeconfig_secret(add_on: str) -> str:
    return f"{add_on}-hub-kubeconfig"


def _built_in(this: addon.ManagedClusterAddOn, config: addon.DeploymentConfigSpec) -> dict[str, str]:
    """Return the values that nobody can change."""
    values = {"CLUSTER_NAME": this.namespace}
    if config.agent_install_namespace:
        values["INSTALL_NAMESPACE"] = config.agent_install_namespace
    return values


def _filled_in(manifest: Manifest, values: Mapping[str, str]) -> Manifest:
    text = orjson.dumps(manifest).decode()
    filled: Manifest = orjson.loads(_VALUE.sub(lambda match: values.get(match[1], ""), text))
    return filled


def _decorate(
    obj: Manifest,
    kind: str,
    add_on: str,
    template: addon.AddOnTemplate,
    preset: Mapping[str, str],
    config: addon.DeploymentConfigSpec,
    registries: Sequence[addon.ImageMirror],
) -> None:
    pod = obj["spec"]["template"].setdefault("spec", {})
    _add_environment(pod, preset)
    for name, source, folder in _credentials(add_on, template):
        _mount(pod, {"name": name, "secret": {"secretName": source}}, folder)
    if config.node_placement is not None and config.node_placement.node_selector is not None:
        pod["nodeSelector"] = config.node_placement.node_selector
        pod["tolerations"] = list(config.node_placement.tolerations)
    for container in pod.get("containers") or ():
        container["image"] = mirrored(container.get("image", ""), registries)
    _add_proxy(pod, add_on, config.proxy_config)
    for container in pod.get("containers") or ():
        _set_resources(container, f"{kind}:{obj['metadata']['name']}:{container['name']}", config.resource_requirements)
    _add_empty_fields(obj, kind)


def _add_empty_fields(obj: Manifest, kind: str) -> None:
    """Add what Go, which has read the object into its type, also writes where it is empty."""
    strategy, status = _EMPTY[kind]
    obj["spec"].setdefault(strategy, {})
    obj.setdefault("status", dict(status))
    pod = obj["spec"]["template"]["spec"]
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        container.setdefault("resources", {})


def _credentials(add_on: str, template: addon.AddOnTemplate) -> list[tuple[str, str, str]]:
    """Return volume, secret and folder of each registration."""
    credentials = []
    for registration in template.spec.registration:
        if registration.type == "KubeClient":
            credentials.append(("hub-kubeconfig", kubeconfig_secret(add_on), KUBECONFIG_FOLDER))
        elif registration.type == "CustomSigner" and registration.custom_signer is not None:
            signer = registration.custom_signer.signer_name.replace("/", "-")
            name = f"cert-{signer.replace('.', '-')}"
            credentials.append(
                (name, secret_name(add_on, registration.custom_signer.signer_name), f"/managed/{signer}")
            )
    return credentials


def _add_environment(pod: Manifest, values: Mapping[str, str]) -> None:
    added = [{"name": name, "value": value} for name, value in values.items()]
    for container in pod.get("containers") or ():
        if added:
            container["env"] = [*(container.get("env") or ()), *added]


def _mount(pod: Manifest, volume: Manifest, folder: str) -> None:
    for container in pod.get("containers") or ():
        mount = {"name": volume["name"], "mountPath": folder}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    pod["volumes"] = [*(pod.get("volumes") or ()), volume]


def mirrored(image: str, registries: Sequence[addon.ImageMirror]) -> str:
    """Return where an image is taken from; of several mirrors that hold it, the last."""
    result = image
    for registry in registries:
        source, mirror = registry.source.removesuffix("/"), registry.mirror.removesuffix("/")
        if not source:
            name = image.rpartition("/")[2]
            result = f"{mirror}/{name}" if mirror else name
        elif image.startswith(source):
            result = mirror + image.removeprefix(source)
    return result


def _add_proxy(pod: Manifest, add_on: str, proxy: addon.ProxyConfig) -> None:
    given = {"HTTP_PROXY": proxy.http_proxy, "HTTPS_PROXY": proxy.https_proxy, "NO_PROXY": proxy.no_proxy}
    values = {written: value for name, value in given.items() if value for written in (name, name.lower())}
    if not values:
        return
    _add_environment(pod, values)
    if proxy.ca_bundle:
        _add_environment(pod, {"CA_BUNDLE_FILE_PATH": f"{PROXY_FOLDER}/{PROXY_FILE}"})
        _mount(pod, {"name": "proxy-ca-bundle", "configMap": {"name": f"{add_on}-proxy-ca"}}, PROXY_FOLDER)


def _proxy_config_map(add_on: str, proxy: addon.ProxyConfig) -> Manifest:
    bundle = base64.b64decode(proxy.ca_bundle).decode()
    return ConfigMap.manifest(f"{add_on}-proxy-ca", addon.INSTALL_NAMESPACE, data={PROXY_FILE: bundle})


def _set_resources(container: Manifest, name: str, requirements: Sequence[addon.ContainerResources]) -> None:
    """Set what a container may use: as the last says that means it."""
    for requirement in reversed(requirements):
        if re.fullmatch(".*".join(map(re.escape, requirement.container_id.split("*"))), name):
            container["resources"] = requirement.resources
            return


def _moved(obj: Manifest, namespace: str) -> Manifest:
    """Put an object, and the accounts that it names, into the namespace of the agent."""
    if not namespace:
        return obj
    moved: dict[str, Any] = copy.deepcopy(obj)
    if moved["metadata"].get("namespace"):
        moved["metadata"]["namespace"] = namespace
    if moved["kind"] == "Namespace":
        moved["metadata"]["name"] = namespace
    if moved["kind"] in ("ClusterRoleBinding", "RoleBinding"):
        for subject in moved.get("subjects") or ():
            subject["namespace"] = namespace
    return moved
