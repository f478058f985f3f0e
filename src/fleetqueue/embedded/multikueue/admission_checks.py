"""Say on each AdmissionCheck of MultiKueue's whether jobs can be sent: whether its config and its clusters are there.

Reads:   AdmissionCheck, MultiKueueConfig, MultiKueueCluster
Writes:  AdmissionCheck status
Mirrors: Kueue pkg/controller/admissionchecks/multikueue/admissioncheck.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics

KIND: Final = kueue.MultiKueueConfig.resource.kind
OLD_CONDITIONS: Final = {
    "SingleInstanceInClusterQueue": "only one multikueue managed admission check can be used in one ClusterQueue",
    "FlavorIndependent": "admission check cannot be applied at ResourceFlavor level",
}
"""What Kueue 0.7 and 0.8 said of every check of MultiKueue's."""


class AdmissionCheckController(Controller):
    name = "multikueue checks"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: MultiKueueSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(kueue.AdmissionCheck, lambda check: (check.name,) if check.is_multikueue else ()),
            Watch(kueue.MultiKueueConfig, lambda config: self._using((config.name,))),
            Watch(kueue.MultiKueueCluster, self._of_cluster),
        )

    async def reconcile(self, key: str) -> None:
        check = self.hub.get(kueue.AdmissionCheck, key)
        if check is None or not check.is_multikueue:
            return
        parameters = check.spec.parameters
        config = self.hub.get(kueue.MultiKueueConfig, parameters.name) if parameters is not None else None
        clusters = {cluster.name: cluster.is_connected for cluster in self.hub.list(kueue.MultiKueueCluster)}
        wanted = [active(check, config, clusters), *(self._old() if self.settings.old_conditions else ())]
        conditions = [_of_generation(condition, check.metadata.generation) for condition in wanted]
        await self.hub.set_conditions(
            check, check.status.conditions, conditions, {condition.type for condition in conditions}
        )

    def _old(self) -> Sequence[Condition]:
        return [Condition.true(kind, "MultiKueue", message) for kind, message in OLD_CONDITIONS.items()]

    def _using(self, configs: Iterable[str]) -> Iterable[str]:
        wanted = set(configs)
        return [check.name for check in self.hub.list(kueue.AdmissionCheck) if check.config_name in wanted]

    def _of_cluster(self, cluster: kueue.MultiKueueCluster) -> Iterable[str]:
        configs = self.hub.list(kueue.MultiKueueConfig)
        return self._using(config.name for config in configs if cluster.name in config.spec.clusters)


def active(
    check: kueue.AdmissionCheck, config: kueue.MultiKueueConfig | None, clusters: Mapping[str, bool]
) -> Condition:
    """Say whether a check is of use; `clusters` are all that there are, and whether each is connected."""
    if (fault := _fault(check)) is not None:
        return Condition.false(kueue.ACTIVE, *messages.bad_config(fault))
    if config is None:
        name = check.spec.parameters.name if check.spec.parameters is not None else ""
        missing_config = f'{KIND}.{kueue.GROUP} "{name}" not found'
        return Condition.false(kueue.ACTIVE, *messages.bad_config(missing_config))
    missing = [name for name in config.spec.clusters if name not in clusters]
    inactive = [name for name in config.spec.clusters if clusters.get(name) is False]
    if not missing and not inactive:
        return Condition.true(kueue.ACTIVE, *messages.CHECK_ACTIVE)
    message = messages.unusable(missing, inactive)
    if len(missing) + len(inactive) < len(config.spec.clusters):
        return Condition.true(kueue.ACTIVE, "SomeActiveClusters", message)
    return Condition.false(kueue.ACTIVE, "NoUsableClusters", message)


def _fault(check: kueue.AdmissionCheck) -> str | None:
    """Say what is wrong with the parameters of a check."""
    given = check.spec.parameters
    if given is None:
        return "missing parameters reference"
    if not given.name:
        return "empty name: bad parameters reference"
    if given.api_group != kueue.GROUP:
        return f'wrong group "{given.api_group}", expecting "{kueue.GROUP}": bad parameters reference'
    if given.kind != KIND:
        return f'wrong kind "{given.kind}", expecting "{KIND}": bad parameters reference'
    return None


def _of_generation(condition: Condition, generation: int) -> Condition:
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=generation,
    )
