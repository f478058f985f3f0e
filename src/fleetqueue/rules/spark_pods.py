"""The pods of a SparkApplication: a driver and its executors, each made of the application's own words for it.

Kueue makes the pod sets of a Workload from them, and who runs SparkApplications makes such pods.

Mirrors: Kueue pkg/controller/jobs/sparkapplication/sparkapplication_podset.go
"""

import re
from typing import Final

from fleetqueue.api.fields import value_at
from fleetqueue.api.scheme import Manifest

DRIVER, EXECUTOR = "driver", "executor"
CONTAINERS: Final = {DRIVER: "spark-kubernetes-driver", EXECUTOR: "spark-kubernetes-executor"}
LOCAL_DIR: Final = "spark-local-dir-"
"""Volumes of such names are Spark's own business."""
_JAVA_MEMORY: Final = re.compile(r"(.*?)([kmgtp])b?")


def pods_of(app: Manifest, role: str) -> int:
    """Return how many pods of a role there are at first."""
    return 1 if role == DRIVER else int(value_at(app, ("spec", EXECUTOR, "instances")) or 0)


def spark_template(app: Manifest, role: str) -> Manifest:
    """Return the template of the pods of a role."""
    section = app["spec"].get(role) or {}
    mounts = [mount for mount in section.get("volumeMounts") or () if not mount["name"].startswith(LOCAL_DIR)]
    volumes = {volume["name"]: volume for volume in app["spec"].get("volumes") or ()}
    mounted = [mount for mount in mounts if mount["name"] in volumes]
    container = {"name": CONTAINERS[role], "resources": _resources(section), "volumeMounts": mounted}
    spec = {
        "containers": [_filled(container), *(section.get("sidecars") or ())],
        "initContainers": section.get("initContainers"),
        "volumes": [volumes[name] for name in dict.fromkeys(mount["name"] for mount in mounted)],
        "priorityClassName": section.get("priorityClassName"),
        "nodeSelector": section.get("nodeSelector"),
        "affinity": section.get("affinity"),
        "tolerations": section.get("tolerations"),
    }
    metadata = {field: _together(section, field) for field in ("labels", "annotations")}
    return _filled({"metadata": _filled(metadata), "spec": _filled(spec)})


def _resources(section: Manifest) -> Manifest:
    gpu = section.get("gpu") or {}
    requests = {"cpu": section.get("coreRequest"), "memory": _memory(section.get("memory"))}
    limits = {"cpu": section.get("coreLimit"), "memory": _memory(section.get("memoryLimit"))}
    if gpu.get("name") and gpu.get("quantity", 0) > 0:
        limits[gpu["name"]] = str(gpu["quantity"])
    return _filled({"requests": _filled(requests), "limits": _filled(limits)})


def _memory(text: str | None) -> str | None:
    """Return an amount of memory as Kubernetes writes it, after how Java does: `512m` is 512Mi."""
    match = _JAVA_MEMORY.fullmatch(text) if text else None
    return f"{match[1]}{match[2].upper()}i" if match else text


def _together(section: Manifest, field: str) -> dict[str, str]:
    return {**(value_at(section, ("template", "metadata", field)) or {}), **(section.get(field) or {})}


def _filled(fields: Manifest) -> Manifest:
    return {name: value for name, value in fields.items() if value}
