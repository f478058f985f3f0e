"""Kueue's own configuration, as far as others must follow it: who dispatches, which kinds MultiKueue sends, and how.

What is absent has Kueue's default. What cannot be read counts as absent: Kueue itself would not start with it, and then
goes on with what it was started with.

Mirrors: Kueue apis/config/v1beta2, pkg/features, and what cmd/kueue/main.go makes of them
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from fleetqueue.api import durations
from fleetqueue.api.kueue_v1beta2 import ALL_AT_ONCE

CONFIG_MAP: Final = "kueue-manager-config"
"""The ConfigMap of Kueue's own manifests; Helm's and an operator's may have other names."""
CONFIG_KEY: Final = "controller_manager_config.yaml"

ADAPTERS_FOR_CUSTOM_JOBS: Final = "MultiKueueAdaptersForCustomJobs"
ELASTIC_JOBS: Final = "ElasticJobsViaWorkloadSlices"
ORCHESTRATED_PREEMPTION: Final = "MultiKueueOrchestratedPreemption"
REMOTE_SPEC_SYNC: Final = "MultiKueueRemoteSpecSync"
BETA_GATES: Final = frozenset({ADAPTERS_FOR_CUSTOM_JOBS, ELASTIC_JOBS, REMOTE_SPEC_SYNC})
"""Of the gates that change what is sent, or how, those that are on unless somebody turns them off."""
ALPHA_GATES: Final = frozenset({ORCHESTRATED_PREEMPTION})
"""Those that are off unless somebody turns them on."""
ALL_ALPHA, ALL_BETA = "AllAlpha", "AllBeta"

_HEADER: Final = re.compile(r"multiKueue:\s*(#.*)?")
_TOP_LEVEL: Final = re.compile(r"[^\s#]")
_DISPATCHER: Final = re.compile(r"\s+dispatcherName:")


@dataclass(frozen=True, slots=True)
class Configuration:
    dispatcher_name: str = ALL_AT_ONCE
    origin: str = "multikueue"
    """The value of the origin label on what this hub's Kueue creates on workers."""
    worker_lost_timeout: float = 900.0
    """Seconds after which Kueue starts a job elsewhere whose worker is silent."""
    frameworks: tuple[str, ...] = ("batch/job",)
    """The kinds of jobs that Kueue manages. MultiKueue sends those that it has an adapter for, and watches each of them
    on every worker, whether or not the hub itself serves the kind."""
    external_frameworks: tuple[str, ...] = ()
    """Further kinds that MultiKueue sends, each as `Kind.version.group`."""
    frameworks_elsewhere: tuple[str, ...] = ()
    """Kinds that others than Kueue's manager queue on the hub, written alike; MultiKueue does not send them."""
    gates: frozenset[str] = BETA_GATES
    """Those of the feature gates above that are on."""


def read(text: str, feature_gates: str = "") -> Configuration:
    """Read a configuration file, and the argument `--feature-gates`, which replaces the gates of the file."""
    given = _parsed(text)
    section, integrations = _section(given, "multiKueue"), _section(given, "integrations")
    default = Configuration()
    gates = _argument(feature_gates) if feature_gates else _section(given, "featureGates")
    on = _gates(gates)
    external = section.get("externalFrameworks") if ADAPTERS_FOR_CUSTOM_JOBS in on else None
    return Configuration(
        dispatcher_name=str(section.get("dispatcherName") or default.dispatcher_name),
        origin=str(section.get("origin") or default.origin),
        worker_lost_timeout=_seconds(section.get("workerLostTimeout"), default.worker_lost_timeout),
        frameworks=_names(integrations.get("frameworks")) or default.frameworks,
        external_frameworks=_names([e.get("name") for e in _list(external) if isinstance(e, dict)]),
        frameworks_elsewhere=_names(integrations.get("externalFrameworks")),
        gates=on,
    )


def with_dispatcher(text: str, name: str | None) -> str:
    """Return Kueue's configuration with another dispatcher; None goes back to Kueue's own default.

    Everything else stays as it is written, comments too, unless the section is in a form that cannot be edited line by
    line; then the whole is written anew.
    """
    config = yaml.safe_load(text) or {}
    section = {key: value for key, value in (config.get("multiKueue") or {}).items() if key != "dispatcherName"}
    if name is not None:
        section["dispatcherName"] = name
    if section:
        config["multiKueue"] = section
    else:
        config.pop("multiKueue", None)
    edited = _edited(text, name)
    return edited if (_parsed(edited) or {}) == config else yaml.safe_dump(config, sort_keys=False)


def _edited(text: str, name: str | None) -> str:
    """Change the one line; what comes out may be wrong, and is compared with what is wanted."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if header is None:
        added = [] if name is None else ["multiKueue:", f"  dispatcherName: {name}"]
        return "\n".join([*lines, *added]) + "\n"
    end = next((n for n in range(header + 1, len(lines)) if _TOP_LEVEL.match(lines[n])), len(lines))
    section = [line for line in lines[header + 1 : end] if not _DISPATCHER.match(line)]
    entries = [line for line in section if line.strip() and not line.lstrip().startswith("#")]
    if name is not None:
        indent = entries[0][: len(entries[0]) - len(entries[0].lstrip())] if entries else "  "
        section.insert(0, f"{indent}dispatcherName: {name}")
    kept = [lines[header], *section] if entries or name is not None else section
    return "\n".join([*lines[:header], *kept, *lines[end:]]) + "\n"


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        given = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # ValueError: a date such as 2026-99-99
        return {}
    return given if isinstance(given, dict) else {}


def _section(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = given.get(name)
    return section if isinstance(section, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of a list, each once, in its order."""
    return tuple(dict.fromkeys(name.strip() for name in _list(value) if isinstance(name, str) and name.strip()))


def _seconds(value: Any, default: float) -> float:
    try:
        return durations.parsed(value) if isinstance(value, str) else default
    except ValueError:
        return default


def _argument(feature_gates: str) -> dict[str, bool]:
    """Read `A=true,B=false`."""
    pairs = (part.partition("=") for part in feature_gates.split(","))
    return {name.strip(): value.strip().lower() in ("true", "t", "1") for name, sign, value in pairs if sign}


def _gates(given: Mapping[str, Any]) -> frozenset[str]:
    """Return which gates are on; one that is named goes before a name for many."""
    alpha, beta = given.get(ALL_ALPHA) is True, given.get(ALL_BETA) is not False
    default = {**dict.fromkeys(ALPHA_GATES, alpha), **dict.fromkeys(BETA_GATES, beta)}
    return frozenset(name for name, is_on in default.items() if given.get(name, is_on) is True)
