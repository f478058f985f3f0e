"""What Kueue's own configuration says that matters here: who dispatches, and the label on remote copies."""

from dataclasses import dataclass
from typing import Any, Final

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.controllers.placement_admission.names import DISPATCHER_NAME

CONFIG_MAP: Final = "kueue-manager-config"
CONFIG_KEY: Final = "controller_manager_config.yaml"


@dataclass(frozen=True, slots=True)
class KueueConfig:
    dispatcher: str = kueue.ALL_AT_ONCE
    origin: str = "multikueue"
    """The value of the origin label on what this hub's Kueue creates on workers."""

    @property
    def is_ours(self) -> bool:
        """Whether nominations are left to us."""
        return self.dispatcher == DISPATCHER_NAME


def read(config_map: ConfigMap | None) -> KueueConfig:
    """Read the ConfigMap that Kueue is started with; what is absent or unreadable has Kueue's defaults."""
    section = _multikueue(config_map)
    default = KueueConfig()
    return KueueConfig(
        dispatcher=str(section.get("dispatcherName") or default.dispatcher),
        origin=str(section.get("origin") or default.origin),
    )


def with_dispatcher(text: str, name: str | None) -> str:
    """Return Kueue's configuration with another dispatcher; None goes back to Kueue's own default."""
    config = yaml.safe_load(text) or {}
    section = {key: value for key, value in (config.get("multiKueue") or {}).items() if key != "dispatcherName"}
    if name is not None:
        section["dispatcherName"] = name
    if section:
        config["multiKueue"] = section
    else:
        config.pop("multiKueue", None)
    return yaml.safe_dump(config, sort_keys=False)


def _multikueue(config_map: ConfigMap | None) -> dict[str, Any]:
    if config_map is None:
        return {}
    try:
        config = yaml.safe_load(config_map.data.get(CONFIG_KEY, ""))
    except yaml.YAMLError:
        return {}
    section = config.get("multiKueue") if isinstance(config, dict) else None
    return section if isinstance(section, dict) else {}
