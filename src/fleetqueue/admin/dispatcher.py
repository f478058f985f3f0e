"""Tell the hub's Kueue who dispatches: us, or Kueue itself again."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import read, with_dispatcher
from fleetqueue.api.kueue_installation import (
    MANAGER_LABELS,
    KueueConfigMap,
    KueueDeployment,
    KueuePod,
    KueueSource,
    key_in,
    source_of,
)
from fleetqueue.api.meta import precondition_of
from fleetqueue.api.running_kueue import Version, kueue, managers
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

DEPLOYMENTS: Final = KueueDeployment.resource
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""The annotation with which `kubectl rollout restart` makes new pods."""
RESTART_BY_HAND: Final = (
    "no Deployment of Kueue is found, so nobody can see here whether Kueue was restarted since: restart Kueue on the "
    "hub yourself (in a lab: fleetqueue restart hub/kueue); the beginning of its log shows with which configuration it "
    "was started"
)

Report = Callable[[str], None]

HELM: Final = "Helm"
MANAGED_BY: Final = {
    "Argo CD": frozenset(
        {
            "argocd.argoproj.io/tracking-id",
            "argocd.argoproj.io/instance",
            "argocd-controller",
            "argocd-application-controller",
        }
    ),
    "Flux": frozenset(
        {
            "kustomize.toolkit.fluxcd.io/name",
            "helm.toolkit.fluxcd.io/name",
            "kustomize-controller",
            "helm-controller",
        }
    ),
    HELM: frozenset({"meta.helm.sh/release-name", "app.kubernetes.io/managed-by=Helm", "helm"}),
}
"""The labels, annotations and field managers by which those are known who bring a configuration from elsewhere."""


class NoKueueConfig(Exception):
    """Kueue's configuration is not where it is looked for; the text says where that is."""


async def install(hub: Client, namespace: str, config_map: str, report: Report) -> None:
    """Let Kueue leave nominations to us, and restart it."""
    kueue_config = await find(hub, namespace, config_map)
    is_changed = await set_ours(hub, namespace, config_map)
    restart = await restart_where_due(hub, namespace, config_map, is_changed=is_changed)
    if not restart.deployment:
        report(f"Kueue's configuration leaves dispatching to fleetqueue; {RESTART_BY_HAND}")
    elif not restart.is_done:
        report("Kueue leaves dispatching to fleetqueue already")
        return
    else:
        report("Kueue leaves dispatching to fleetqueue, and is restarted")
    if kueue_config.managed_by:
        report(kept_elsewhere(kueue_config, "fleetqueue install --print"))


async def state(hub: Client, namespace: str, config_map: str) -> str:
    """Say who dispatches; nothing is changed. Raises NoKueueConfig where neither Kueue nor its configuration is."""
    try:
        kueue_config = await find(hub, namespace, config_map)
        if kueue_config.dispatcher != DISPATCHER_NAME:
            return "Kueue's dispatcher is left as it is; set ours with --dispatcher"
        if not (await _source(hub, namespace, config_map)).deployment:
            return f"Kueue's configuration leaves dispatching to fleetqueue; {RESTART_BY_HAND}"
        if await waits_for_a_restart(hub, namespace, config_map):
            return "Kueue's configuration leaves dispatching to fleetqueue, but Kueue waits for a restart: --dispatcher"
    except errors.Forbidden as error:
        return f"who dispatches cannot be seen: {error}"
    except NoKueueConfig as error:
        if config_map or not (await _source(hub, namespace, config_map)).deployment:
            raise  # somebody named what is not there
        return f"who dispatches cannot be seen: {error}"
    return "Kueue leaves dispatching to fleetqueue already"


async def change_to_ours(hub: Client, namespace: str, config_map: str, report: Report) -> str:
    """Return the change with which Kueue leaves nominations to us; nothing is changed."""
    return await _change(hub, namespace, config_map, DISPATCHER_NAME, report)


async def change_back(hub: Client, namespace: str, config_map: str, report: Report) -> str:
    """Return the change with which Kueue dispatches by itself again; nothing is changed."""
    return await _change(hub, namespace, config_map, None, report)


def kept_elsewhere(conf: "WrittenConfiguration", command: str) -> str:
    """Say that a change on the hub will not last."""
    return (
        f"ConfigMap {conf.where} is written by {conf.managed_by}, which may undo this; make the change at its source:"
        f" `{command}` shows it"
    )


async def _change(hub: Client, namespace: str, config_map: str, name: str | None, report: Report) -> str:
    kueue_config = await find(hub, namespace, config_map)
    is_due = name is not None or kueue_config.dispatcher == DISPATCHER_NAME
    change = kueue_config.change(name) if is_due else ""
    if change:
        report(f"nothing is changed; make this change where ConfigMap {kueue_config.where} is kept, and restart Kueue")
    else:
        report(f"ConfigMap {kueue_config.where} needs no change")
    return change


async def set_ours(hub: Client, namespace: str, config_map: str = "") -> bool:
    """Let Kueue leave nominations to us; False where it does already."""
    return await _set(hub, namespace, config_map, DISPATCHER_NAME)


async def set_back(hub: Client, namespace: str, config_map: str = "") -> bool:
    """Let Kueue dispatch by itself again; False where it does. A dispatcher that is not ours is left alone."""
    kueue_config = await find(hub, namespace, config_map)
    return await _set(hub, namespace, config_map, None) if kueue_config.dispatcher == DISPATCHER_NAME else False


@dataclass(frozen=True, slots=True)
class Restart:
    """How Kueue came to run with what is written."""

    deployment: str
    """Empty where Kueue runs out of our sight: whether it was restarted, only a person can tell."""
    is_done: bool
    """False also where none was due."""


async def restart_where_due(hub: Client, namespace: str, config_map: str, *, is_changed: bool) -> Restart:
    """Let Kueue read its configuration, where that was changed just now or since Kueue has started."""
    is_due = is_changed or await waits_for_a_restart(hub, namespace, config_map)
    deployment = await restart_kueue(hub, namespace) if is_due else (await _source(hub, namespace, "")).deployment
    return Restart(deployment, is_done=is_due and bool(deployment))


async def waits_for_a_restart(hub: Client, namespace: str, config_map: str = "") -> bool:
    """Tell whether a pod of Kueue's Deployment is older than what is written, and so may run with something else."""
    view = KueueConfigMap.view(KueueConfigMap.trim((await find(hub, namespace, config_map)).config_map))
    source = await _source(hub, namespace, config_map)
    listed = await hub.list(KueuePod.resource, namespace, labels=MANAGER_LABELS)
    pods = [KueuePod.view(KueuePod.trim(raw)) for raw in listed.items]
    key = key_in(view.data, source.key)
    version = Version(read(view.data[key]), view.changed.get(key))
    return bool(kueue([version], managers(source, pods)).outdated)


async def restart_kueue(hub: Client, namespace: str) -> str:
    """Make new pods of Kueue, which read the configuration; return the Deployment's name, empty where there is none."""
    name = (await _source(hub, namespace, "")).deployment
    if name:
        stamp = {"annotations": {RESTARTED_AT: timestamp(clock.now())}}
        await hub.merge(DEPLOYMENTS, name, namespace, {"spec": {"template": {"metadata": stamp}}})
    return name


@dataclass(frozen=True, slots=True)
class WrittenConfiguration:
    """Kueue's configuration as it is written on the hub."""

    config_map: Manifest
    key: str

    @property
    def text(self) -> str:
        return str(self.config_map["data"][self.key])

    @property
    def dispatcher(self) -> str:
        return read(self.text).dispatcher_name

    @property
    def where(self) -> str:
        metadata = self.config_map["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    @property
    def managed_by(self) -> str:
        """Who writes this ConfigMap from a source elsewhere, and would undo a change of it; empty where nobody does."""
        return next((name for name in MANAGED_BY if self._is_marked_by(name)), "")

    def change(self, name: str | None) -> str:
        """Return the change to another dispatcher, for who keeps the file elsewhere; empty where none is due."""
        wanted = with_dispatcher(self.text, name)
        if read(wanted) == read(self.text):
            return ""
        before, after = (text.splitlines(keepends=True) for text in (self.text, wanted))
        titles = f"a/{self.where}/{self.key}", f"b/{self.where}/{self.key}"
        change = "".join(unified_diff(before, after, *titles))
        return change + _values(wanted) if self._is_marked_by(HELM) else change

    def _is_marked_by(self, name: str) -> bool:
        metadata = self.config_map["metadata"]
        marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
        managers = {str(entry.get("manager")) for entry in metadata.get("managedFields") or ()}
        written = {*marks, *(f"{mark}={value}" for mark, value in marks.items()), *managers}
        return bool(written & MANAGED_BY[name])


def _values(text: str) -> str:
    """Return the values of Kueue's Helm chart that give this configuration."""
    indented = "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
    return f"\n# values of Kueue's Helm chart\nmanagerConfig:\n  controllerManagerConfigYaml: |-\n{indented}"


async def find(hub: Client, namespace: str, config_map: str = "") -> WrittenConfiguration:
    """Find it; `config_map` is its name, where somebody chose one. Raises NoKueueConfig."""
    source = await _source(hub, namespace, config_map)
    live = await hub.find(ConfigMap.resource, source.config_map, namespace) or {}
    key = key_in(live.get("data") or {}, source.key)
    if not key:
        raise NoKueueConfig(
            f'ConfigMap "{namespace}/{source.config_map}" with key "{source.key}" is missing; install Kueue, or name '
            "its namespace with --kueue-namespace and the ConfigMap with --config-map"
        )
    return WrittenConfiguration(live, key)


async def look(hub: Client, namespace: str, config_map: str = "") -> WrittenConfiguration | None:
    """Find it where it may be seen."""
    try:
        return await find(hub, namespace, config_map)
    except (errors.Forbidden, NoKueueConfig):
        return None


async def _source(hub: Client, namespace: str, config_map: str) -> KueueSource:
    listed = await hub.list(DEPLOYMENTS, namespace, labels=MANAGER_LABELS)
    return source_of(map(KueueDeployment.view, listed.items), config_map)


async def _set(hub: Client, namespace: str, config_map: str, name: str | None) -> bool:
    kueue_config = await find(hub, namespace, config_map)
    wanted = with_dispatcher(kueue_config.text, name)
    if read(wanted) == read(kueue_config.text):
        return False
    metadata = kueue_config.config_map["metadata"]
    patch = {"metadata": precondition_of(metadata), "data": {kueue_config.key: wanted}}
    await hub.merge(ConfigMap.resource, metadata["name"], namespace, patch)
    return True
