"""Where Kueue is installed on a cluster, and from which ConfigMap its manager reads its configuration.

Kueue's own manifests, its Helm chart and operators call these objects differently. The Deployment tells: its labels are
the same everywhere, its argument `--config` names a file, and its volumes say which ConfigMap that file is from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, Final

from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Manifest, Resource

MANAGER_LABELS: Final = "control-plane=controller-manager"
"""On the Deployment of Kueue's manager and on its pods, whoever installed it."""
NAME_LABEL: Final = "app.kubernetes.io/name"
NAME: Final = "kueue"
MANAGER: Final = "manager"
"""The container of Kueue in its pods."""


class VolumeMount(View):
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""


class ManagerContainer(View):
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class KeyToPath(View):
    key: str = ""
    path: str = ""


class ConfigMapVolume(View):
    name: str = ""
    items: tuple[KeyToPath, ...] = ()


class Volume(View):
    name: str = ""
    config_map: ConfigMapVolume | None = None


class ManagerPodSpec(View):
    containers: tuple[ManagerContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()


class ManagerPodTemplate(View):
    spec: ManagerPodSpec = ManagerPodSpec()


class Selector(View):
    match_labels: dict[str, str] = {}


class Spec(View):
    selector: Selector = Selector()
    template: ManagerPodTemplate = ManagerPodTemplate()


class KueueDeployment(Object):
    """The Deployment of Kueue's manager."""

    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments")

    spec: Spec = Spec()


class KueueConfigMap(ConfigMap):
    """A ConfigMap of Kueue's namespace, with the time of each entry."""

    changed: dict[str, datetime] = {}
    """When each entry was last written, as far as the API server has noted it; made from `managedFields`."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep of `managedFields` only the times."""
        times: dict[str, str] = {}
        for entry in raw.get("metadata", {}).get("managedFields") or ():
            for name in (entry.get("fieldsV1") or {}).get("f:data") or ():
                key, time = name.removeprefix("f:"), str(entry.get("time") or "")
                times[key] = max(times.get(key, ""), time)
        return {**super().trim(raw), "changed": {key: time for key, time in times.items() if time}}


class KueuePod(Pod):
    """A pod of Kueue's manager."""

    @property
    def started(self) -> datetime | None:
        """When the manager in it began to run; None where it does not run. A sidecar's start does not count."""
        running = {c.name: c.state.running.started_at for c in self.status.container_statuses if c.state.running}
        moments = [running[MANAGER]] if MANAGER in running else list(running.values())
        return min((moment for moment in moments if moment is not None), default=None)

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        statuses = (raw.get("status") or {}).get("containerStatuses") or ()
        kept = [{"name": one.get("name"), "state": one.get("state") or {}} for one in statuses]
        return {**super().trim(raw), "spec": {}, "status": {"containerStatuses": kept}}


@dataclass(frozen=True, slots=True)
class KueueSource:
    """What a manager of Kueue is started with."""

    config_map: str = CONFIG_MAP
    """In Kueue's namespace; empty where the manager is given no configuration, or has it from elsewhere."""
    key: str = CONFIG_KEY
    feature_gates: str = ""
    """The argument of this name."""
    deployment: str = ""
    """The Deployment that says so; empty where none was found."""
    selector: Mapping[str, str] = field(default_factory=dict)
    """The labels of its pods."""


def source_of(deployments: Iterable[KueueDeployment], config_map: str = "") -> KueueSource:
    """Find the configuration of Kueue among the Deployments of its namespace.

    `config_map` is the name that somebody chose, if any. Without a Deployment Kueue's own name holds: it may run
    elsewhere, as a process.
    """
    for deployment in _managers(deployments):
        if source := _source(deployment):
            return replace(source, config_map=config_map or source.config_map)
    return KueueSource(config_map=config_map or CONFIG_MAP)


def key_in(data: Mapping[str, str], key: str) -> str:
    """Return under which key a ConfigMap has the configuration: a single file may have any; empty where it has none."""
    if key in data:
        return key
    return next(iter(data)) if len(data) == 1 else ""


def _managers(deployments: Iterable[KueueDeployment]) -> list[KueueDeployment]:
    """Sort those first that are called Kueue: another controller may run beside it."""
    return sorted(deployments, key=lambda manager: (manager.metadata.labels.get(NAME_LABEL) != NAME, manager.name))


def _source(deployment: KueueDeployment) -> KueueSource | None:
    pod = deployment.spec.template.spec
    for container in pod.containers:
        given = (*container.command, *container.args)
        path, gates = _argument(given, "config"), _argument(given, "feature-gates")
        if path:
            config_map, key = _mounted(pod, container, path)
            selector = deployment.spec.selector.match_labels
            return KueueSource(config_map, key or CONFIG_KEY, gates, deployment.name, selector)
    return None


def _argument(given: Sequence[str], name: str) -> str:
    """Return the value of a flag as Go takes it: with one dash or two, after `=` or as the next word."""
    for number, word in enumerate(given):
        flag, sign, value = word.partition("=")
        if flag in (f"-{name}", f"--{name}"):
            return value if sign else "".join(given[number + 1 : number + 2])
    return ""


def _mounted(pod: ManagerPodSpec, container: ManagerContainer, path: str) -> tuple[str, str]:
    """Return the ConfigMap and the key behind a file; empty where it is not from a ConfigMap."""
    volumes = {volume.name: volume.config_map for volume in pod.volumes if volume.config_map is not None}
    for mount in container.volume_mounts:
        volume = volumes.get(mount.name)
        file = _file(mount, path)
        if volume is not None and file:
            keys = {item.path: item.key for item in volume.items}
            return volume.name, keys.get(file, file)
    return "", ""


def _file(mount: VolumeMount, path: str) -> str:
    """Return which file of a volume a path is; empty where it is none of them."""
    if path == mount.mount_path:
        return mount.sub_path
    folder = mount.mount_path.rstrip("/") + "/"
    if not path.startswith(folder):
        return ""
    return "/".join(part for part in (mount.sub_path, path.removeprefix(folder)) if part)
