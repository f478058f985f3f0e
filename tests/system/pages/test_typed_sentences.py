"""Commands that stand in the sentences of pages are typed too, where one can be typed as it stands."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from .page import is_typed
from .shell import ROOT, lines_of

IN_A_SENTENCE = re.compile(r"`((?:fleetqueue|kubectl|kueuectl|helm) [^`\n]+)`")
INCOMPLETE = re.compile(r"<|\b[A-Z]{3,}\b")
"""What stands for a name that the reader has to put there."""
NAME = re.compile(r"\w+( [a-z]+(-[a-z]+)*)*")
"""A command without anything to do it with is only a name of it; the pages of commands have the examples."""
ELSEWHERE = {
    "fleetqueue up --scenario multikueue": "so begins the fleet of these tests",
    "fleetqueue up --engine kubernetes": "it needs the real engine; tests/real begin with such fleets",
    "fleetqueue submit --follow": "the page of submit has a whole one",
    "fleetqueue unjoin --force": "docs/en/guides/lost-workers.md has a whole one",
    "kubectl patch --subresource=status": "the stories do it",
}
"""What names an option of a command, or is begun with, and where it is typed."""
OPERATOR = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {plural: PLURAL, kind: KIND}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
KINDS = "---".join(
    OPERATOR.replace("PLURAL", f"{kind.lower()}s").replace("KIND", kind)
    for kind in ("ServiceMonitor", "PrometheusRule")
)
ADMIN = "kubectl --context cluster3 apply -f examples/worker-admin.yaml"


class Typed(NamedTuple):
    """A command, and what it prints; first, what its sentence speaks of is made."""

    text: str
    shows: str
    first: str = "true"


SENTENCES = (
    Typed("fleetqueue --help", shows="Usage: fleetqueue"),
    Typed("fleetqueue --install-completion", shows="bash completion installed"),
    Typed("fleetqueue controller --show-settings", shows="placement_admission:"),
    Typed("fleetqueue get jobs -o json", shows='"job": "Job/train"|"name": "train"'),
    Typed("fleetqueue logs --part hub/kueue", shows="kueue: "),
    Typed(
        "fleetqueue manifests monitoring | kubectl apply -f -",
        first=f"kubectl apply -f - <<'EOF'{KINDS}EOF\nkubectl wait --for=condition=Established crd --all",
        shows="servicemonitor.* created",
    ),
    Typed("kubectl -n kueue-system get deployments", shows="kueue-controller-manager"),
    Typed("kubectl apply -k deploy/kustomize", shows="deployment.apps/fleetqueue-controller configured"),
    Typed("fleetqueue unjoin cluster3", first="kubectl delete jobs --all -n team-a", shows="cluster3 has left"),
    Typed(
        "kubectl --context cluster3 -n kube-system delete secret fleetqueue-admin",
        first=ADMIN,
        shows="deleted",
    ),
    Typed(
        "kubectl --context cluster3 delete --ignore-not-found -f examples/worker-admin.yaml",
        first=ADMIN,
        shows="deleted",
    ),
    Typed("fleetqueue uninstall --print", shows="---"),
    Typed("fleetqueue uninstall --purge", first="fleetqueue uninstall --detach-checks", shows="is removed"),
    Typed(
        "fleetqueue manifests | kubectl delete --ignore-not-found -f -", shows='namespace "fleetqueue-system" deleted'
    ),
)
"""In an order in which each finds what it speaks of."""

pytestmark = pytest.mark.timeout(600)


def pages() -> Iterator[str]:
    yield from ("README.md", "CONTRIBUTING.md")
    for path in (*ROOT.glob("samples/*/*.md"), *ROOT.glob("docs/en/**/*.md")):
        yield str(path.relative_to(ROOT))


def commands() -> set[str]:
    """Return each whole command of a sentence that stands in no block as well."""
    in_blocks = {line for page in pages() for line in lines_of(page)}
    found = {command for page in pages() for command in IN_A_SENTENCE.findall((ROOT / page).read_text())}
    whole = {one for one in found if not INCOMPLETE.search(one) and not NAME.fullmatch(one)}
    return {one for one in whole if is_typed(one)} - in_blocks


def test_commands_in_sentences_work_as_they_are_printed(fleet):
    for line in SENTENCES:
        fleet.type(line.first)
        said = fleet.type(line.text)
        assert re.search(line.shows, said), f"$ {line.text}\n{said}"


def test_no_command_in_a_sentence_is_left_out():
    assert commands() == {line.text for line in SENTENCES} | ELSEWHERE.keys()
