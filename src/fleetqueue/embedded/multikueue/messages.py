"""What MultiKueue tells its users, word for word as Kueue 0.19 does."""

from collections.abc import Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import OwnerReference

CHECK_ACTIVE = ("Active", "The admission check is active")
CONNECTED = ("Active", "Connected")
LOST = "Admitting remote lost"
GONE = "Admitting remote no longer exists"
NO_CLUSTER = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
TIMED_OUT = "watch establishment timed out"
PATH_DEPRECATED = (
    "DeprecatedPathUsage",
    "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is deprecated and will be removed "
    "in a future release. Enable the MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under "
    "/etc/multikueue/kubeconfigs/.",
)


def bad_config(why: str) -> tuple[str, str]:
    return "BadConfig", f"Cannot load the AdmissionChecks parameters: {why}"


def unusable(missing: Sequence[str], inactive: Sequence[str]) -> str:
    parts = []
    if missing:
        parts.append(f"Missing clusters: [{' '.join(missing)}]")
    if inactive:
        parts.append(f"Inactive clusters: [{' '.join(inactive)}]")
    return ", ".join(parts)


def bad_source(why: str) -> str:
    return f"load client config failed: {why}"


def connection_failed(why: str) -> tuple[str, str]:
    return "ClientConnectionFailed", why


def bad_exec_version(version: str) -> str:
    return f'exec plugin: invalid apiVersion "{version}"'


def no_credential(server: str, why: str) -> str:
    return f'failed to get server groups: Get "{server}/api": getting credentials: {why}'


def admitted(cluster: str) -> str:
    return f'The workload was admitted on "{cluster}"'


def previously(message: str, state: str) -> str:
    return f'{message}, Previously: "{state}"'


def evicted(cluster: str) -> str:
    return f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission. Previously: "{kueue.READY}"'


def evicted_on_hub(message: str) -> str:
    return f"Evicted on manager: {message}"


def out_of_sync(cluster: str) -> str:
    return f'Remote workload on worker cluster "{cluster}" is out of sync with its user job, resetting for re-dispatch'


def no_adapter(owner: OwnerReference | None) -> str:
    if owner is None:
        return "No multikueue adapter found"
    return f'No multikueue adapter found for owner kind "{owner.api_version}, Kind={owner.kind}"'


def not_managed(field: str, managed_by: str) -> str:
    expected = f'Expecting {field} to be "{kueue.MULTIKUEUE_CONTROLLER}" not "{managed_by}"'
    return f"The owner is not managed by Kueue: {expected}"
