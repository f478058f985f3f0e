"""Write the plain manifests under deploy/ from the Helm chart, which is their one source.

Usage: render_manifests.py [deploy folder]

Needs Helm: `make tools` builds it. What only Helm needs (its labels, the checksum that rolls pods) is left out.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from fleetqueue.api.fleetqueue import NAMESPACE
from fleetqueue.real import tools

DEPLOY: Final = Path(__file__).parents[1] / "deploy"
CHART: Final = DEPLOY / "charts" / "fleetqueue"
RELEASE: Final = "fleetqueue"
HEAD: Final = "# Rendered from deploy/charts/fleetqueue by `make manifests`: change the chart, not this file.\n"
OF_HELM: Final = re.compile(
    r"^ *(app\.kubernetes\.io/managed-by: Helm|helm\.sh/chart: .*|checksum/settings: .*|# Source: .*)\n", re.MULTILINE
)
EMPTY: Final = re.compile(r"^( *)annotations:\n(?!\1 )", re.MULTILINE)
PLACEHOLDER: Final = "CLUSTER"
"""Stands for the name of a cluster; whoever applies the file replaces it."""

ENABLED: Final = {"enabled": True}
VALUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "hub": {
        "namespace": {"create": True},
        "managedServiceAccounts": {"clusters": [PLACEHOLDER]},
        "scoreAgent": {"addOn": ENABLED},
        "metrics": {"serviceMonitor": ENABLED, "prometheusRule": ENABLED, "grafanaDashboard": ENABLED},
    },
    "worker": {
        "namespace": {"create": True},
        "controller": {"enabled": False},
        "scoreAgent": {"standalone": {**ENABLED, "cluster": PLACEHOLDER}},
    },
}
HUB_FILES: Final = (
    "namespace.yaml",
    "controller_service_account.yaml",
    "controller_settings.yaml",
    "controller_deployment.yaml",
    "controller_disruption_budget.yaml",
    "controller_network_policy.yaml",
    "rbac/controller_bindings.yaml",
    "rbac/controller_cluster_role.yaml",
    "rbac/controller_role_cluster_namespace.yaml",
    "rbac/controller_role_kueue_system.yaml",
    "rbac/controller_role_own_namespace.yaml",
    "rbac/score_agent_hub_role.yaml",
)
MONITORING: Final = (
    "controller_service.yaml",
    "controller_service_monitor.yaml",
    "prometheus_rule.yaml",
    "grafana_dashboard.yaml",
)
FILES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    **{f"kustomize/{name}": ("hub", (name,)) for name in HUB_FILES},
    **{f"kustomize/monitoring/{name}": ("hub", (name,)) for name in MONITORING},
    "kustomize/rbac/score_agent_worker_cluster_role.yaml": ("worker", ("rbac/score_agent_worker_cluster_role.yaml",)),
    "kustomize/score_agent.yaml": ("worker", ("namespace.yaml", "score_agent.yaml")),
    "ocm/score_agent_add_on.yaml": ("hub", ("score_agent_add_on.yaml",)),
}
"""Each file with the values that it is rendered with, and the templates whose objects it holds."""


def rendered(helm: Path) -> dict[str, str]:
    """Return every file by its path under deploy/."""
    with tempfile.TemporaryDirectory() as folder:
        made = {name: render(helm, Path(folder) / name, values) for name, values in VALUES.items()}
        return {
            target: HEAD + "---\n".join(plain(made[name] / template) for template in templates)
            for target, (name, templates) in FILES.items()
        }


def render(helm: Path, folder: Path, values: Mapping[str, Any]) -> Path:
    """Let Helm render the chart with some values; return the folder with one file for each template."""
    command = [helm, "template", RELEASE, CHART, "--namespace", NAMESPACE, "--output-dir", folder, "--values", "-"]
    subprocess.run(command, input=yaml.safe_dump(dict(values)), text=True, check=True, stdout=subprocess.DEVNULL)
    return folder / RELEASE / "templates"


def plain(path: Path) -> str:
    """Return the objects of a rendered template without what only Helm needs."""
    documents = (document.strip("\n") for document in re.split(r"^---\n", path.read_text(), flags=re.MULTILINE))
    return "---\n".join(EMPTY.sub("", OF_HELM.sub("", f"{document}\n")) for document in documents if document)


def main() -> None:
    helm = tools.find(tools.HELM)
    if helm is None:
        sys.exit("Helm is not built: run `make tools` first")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEPLOY
    for name, text in rendered(helm).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
