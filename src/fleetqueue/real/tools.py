"""Programs that developers and CI use beside the engine: Helm for the chart, promtool for its alerts, Kueue's client.

They are built as the engine is, from pinned Go modules. Each has a folder of its own in the cache, so that a new
version of one builds nothing else anew.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fleetqueue.real.build import Report, build_binary, only_one_build, prepare_module
from fleetqueue.real.layout import Layout, cache_dir
from fleetqueue.real.parts import KUBERNETES_VERSION, KUEUE, Binary, Project
from fleetqueue.real.toolchain import find_go

HELM_VERSION: Final = "3.22.0"
PROMETHEUS_VERSION: Final = "0.315.0"
KUBERNETES_MINOR: Final = KUBERNETES_VERSION.split(".")[1]

HELM: Final = Project(
    name="helm",
    module="helm.sh/helm/v3",
    version=f"v{HELM_VERSION}",
    binaries=(Binary("helm", "helm.sh/helm/v3/cmd/helm", 120),),
    # Without the last four, `helm template` and `helm lint` take every cluster for Kubernetes 1.20.
    version_flags=(
        f"-X helm.sh/helm/v3/internal/version.version=v{HELM_VERSION}",
        "-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1",
        f"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={KUBERNETES_MINOR}",
        "-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1",
        f"-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor={KUBERNETES_MINOR}",
    ),
)
PROMTOOL: Final = Project(
    name="promtool",
    module="github.com/prometheus/prometheus",
    version=f"v{PROMETHEUS_VERSION}",
    binaries=(Binary("promtool", "github.com/prometheus/prometheus/cmd/promtool", 300),),
)
KUEUECTL: Final = replace(KUEUE, name="kueuectl", binaries=(Binary("kueuectl", f"{KUEUE.module}/cmd/kueuectl", 120),))
TOOLS: Final = {project.name: project for project in (HELM, PROMTOOL, KUEUECTL)}


@dataclass(frozen=True, slots=True)
class ToolLayout(Layout):
    """The folder of one tool."""

    def binary(self, name: str) -> Path:
        return self.root / "bin" / name


def planned(tool: Project, environ: Mapping[str, str] = os.environ) -> ToolLayout:
    """Where a tool is, or will be."""
    return ToolLayout(cache_dir(environ) / f"{tool.name}-{tool.version}")


def find(tool: Project, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The built program, or None."""
    program = planned(tool, environ).binary(tool.name)
    return program if program.is_file() else None


async def build(tool: Project, report: Report) -> Path:
    """Build a tool, unless it is there."""
    layout = planned(tool)
    layout.root.mkdir(parents=True, exist_ok=True)
    async with only_one_build(layout, report):
        (binary,) = tool.binaries
        if find(tool) is None:
            go = await find_go(layout.root.parent, report)
            folder = layout.root / "work"
            await prepare_module(tool, folder, go, report)
            await build_binary(tool, binary, folder, layout, go, report)
    return layout.binary(binary.name)
