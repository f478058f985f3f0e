"""The shipped manifests as text, comments included: for people who have only the package, and no checkout."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from fleetqueue.manifests import example, folder

PLACEHOLDER: Final = re.compile(r"\bCLUSTER\b")
"""Stands for the name of a cluster in a file that is applied once for each."""
_IMAGE: Final = re.compile(r'(?<=image: )"[^"]*"')


PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "controller": (),
    "monitoring": tuple(
        f"kustomize/monitoring/{name}.yaml"
        for name in ("controller_service", "controller_service_monitor", "prometheus_rule", "grafana_dashboard")
    ),
    "add-on": ("ocm/score_agent_add_on.yaml",),
    "worker-agent": ("kustomize/rbac/score_agent_worker_cluster_role.yaml", "kustomize/score_agent.yaml"),
    "token-reader": ("kustomize/rbac/controller_role_cluster_namespace.yaml",),
}
"""What is applied together, in this order, under `deploy`; the controller is what the kustomization lists."""


def text(part: str, *, image: str = "", cluster: str = "") -> str:
    """Return a part as one stream of YAML documents, with another image and the name of a cluster filled in."""
    content = "---\n".join(path.read_text() for path in _files(part))
    if image:
        content = _IMAGE.sub(f'"{image}"', content)
    return PLACEHOLDER.sub(cluster, content) if cluster else content


def needs_cluster(part: str) -> bool:
    """Tell whether a part is for one cluster, whose name it must be told."""
    return any(PLACEHOLDER.search(path.read_text()) for path in _files(part))


def _files(part: str) -> Iterator[Path]:
    for name in PARTS[part] or tuple(f"kustomize/{listed}" for listed in _listed()):
        yield folder("deploy") / name


def _listed() -> list[str]:
    """Return what the kustomization lists, in its order."""
    lines = (folder("deploy") / "kustomize" / "kustomization.yaml").read_text().splitlines()
    return [line.removeprefix("  - ") for line in lines if line.startswith("  - ") and line.endswith(".yaml")]


def examples() -> dict[str, str]:
    """Return the name of each example with what its first line says about it."""
    paths = sorted(folder().glob("*.yaml"))
    return {path.name: path.read_text().partition("\n")[0].removeprefix("# ") for path in paths}


def example_text(name: str) -> str:
    return example(name if name.endswith(".yaml") else f"{name}.yaml").read_text()


def copy(name: str, target: Path) -> list[Path]:
    """Write `deploy` (chart, plain manifests, add-on) or `examples` into a folder; return the files.

    In a checkout, whose own folders these are, they stay as they are.
    """
    source = folder(name)
    kept = [path for path in sorted(source.rglob("*")) if path.is_file() and not path.name.startswith("Dockerfile")]
    written = [target / path.relative_to(source) for path in kept]
    for path, place in zip(kept, written, strict=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        if not (place.exists() and place.samefile(path)):
            shutil.copyfile(path, place)
    return written
