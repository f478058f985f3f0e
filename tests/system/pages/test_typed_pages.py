"""Every command of the pages is typed, in the world that the page speaks of, or it is said why not."""

import re
from dataclasses import dataclass, field

import pytest

from tests.deploy import built_tools

from .shell import ROOT, Shell, lines_of

ELSEWHERE = {
    "docs/en/guides/jobs.md": "tests/docs/test_jobs_page.py",
    "docs/en/start/install.md": "tests/docs/test_install_page.py",
    "docs/en/guides/testing.md": "tests/system/kit/test_guide.py",
    "samples/testing-your-operator/README.md": "tests/system/kit/test_sample_project.py",
}
"""Pages that another test types."""
NOT_TYPED = {
    "make ": "it is what people and CI begin with: CI runs `make test`, and tests/docs/test_commands.py finds each",
    "python benchmarks/": "it measures for minutes; `make bench` runs the same files",
    "ssh ": "there is no other machine",
}
"""Lines that no test types, by how they begin, and why."""
WITH_HELM = "helm "
"""What is done to a release of the chart is typed in tests/docs/test_install_page.py, which installs it."""
UNTIL_CTRL_C = ("fleetqueue dashboard",)
"""What runs until it is interrupted, by how it begins."""
WITH_ENTER = "--step"
"""Who asks for this presses Enter again and again."""

pytestmark = pytest.mark.timeout(420)


def is_typed(line: str) -> bool:
    return not line.startswith((*NOT_TYPED, WITH_HELM))


@dataclass(frozen=True)
class Page:
    """A page, or some of its blocks, and what is seen when it is typed."""

    path: str
    blocks: tuple[int, ...] = ()
    """Which of its blocks, where not all speak of one world."""
    between: dict[str, str] = field(default_factory=dict)
    """What its prose asks for in words, by the line before which that is typed."""
    shows: dict[str, str] = field(default_factory=dict)
    """What a line must print, as a regular expression, by a part of it; all others must only succeed."""

    def __str__(self) -> str:
        return "-".join([self.path, *map(str, self.blocks)])

    def lines(self) -> list[str]:
        return [line for line in lines_of(self.path, self.blocks) if is_typed(line)]


QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: team-a}
spec: {clusterQueue: cluster-queue-demo2}
"""
TRAIN = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpu}}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 1h}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""
FLEET = (
    "fleetqueue up --scenario multikueue --detach --in-memory",
    "export KUBECONFIG=$(fleetqueue kubeconfig --path)",
    "fleetqueue clusterset bind spoke --namespace kueue-system",
    "kubectl label managedcluster cluster2 cluster3 accelerator=nvidia-tesla-t4",
    "fleetqueue examples single-clusterqueue | kubectl apply --context cluster1 -f -",
    "fleetqueue examples multikueue-setup-demo1 placement-demo2-1 multikueue-setup-demo2 | kubectl apply -f -",
    "sed 's/name: placement-demo2/name: gpu/' examples/placement-demo2-1.yaml | kubectl apply -f -",
    f"for context in hub cluster1 cluster2 cluster3; do kubectl --context $context apply -f - <<'EOF'{QUEUES}EOF\ndone",
    f"cat > job.yaml <<'EOF'{TRAIN}EOF\nkubectl apply -f job.yaml",
    "for name in hub cluster1; do kubectl config view --context $name --minify --flatten > $name.kubeconfig; done",
    "cp cluster1.kubeconfig cluster1-admin.kubeconfig",
)
"""A fleet with the queues of the stories, a team's queue `gpu` and its job `train`."""
WORKER = "kubectl create namespace fleetqueue-system"
"""What is typed first "on the worker", which here was a worker of the add-on before."""
HELD = """kubectl patch clusterqueue cluster-queue-demo2 --type=merge -p '{"spec":{"admissionChecksStrategy":null}}'"""
"""What is typed when none of the queue's jobs is admitted any more."""
OWN_FLEET = [
    Page("README.md"),
    Page("docs/en/start/demo.md", shows={"fleetqueue demo 2": r"All \d+ expectations held", "get placements": "spoke"}),
    Page("docs/en/design/embedded.md", blocks=(0, 3), shows={"get managedclusters": "cluster3 +true"}),
    Page(
        "docs/en/guides/by-hand.md",
        blocks=(0, 1, 2, 3, 7, 8),
        shows={"kubectl wait": "condition met", "get jobs": r"default +Job/sample-job"},
    ),
    Page(
        "docs/en/guides/by-hand.md",
        blocks=(0, 4, 5, 6),
        shows={
            "delayedTopologyRequest": r"worker[12] Ready\n.*worker[12] Ready",
            "get pods -o wide": r"tas-sample-job-\w+ .* tas-node-[12] ",
        },
    ),
]
"""Pages that start their fleet themselves."""
ON_A_FLEET = [
    Page("docs/en/guides/troubleshooting.md", shows={"explain job": "Job/train of namespace team-a"}),
    Page("docs/en/reference/causes.md", shows={"explain job -f": "Job/train", "explain cluster": "NotChosen"}),
    Page("docs/en/reference/findings.md", shows={"doctor": "nothing wrong was found|healthy"}),
    Page("docs/en/guides/dashboard.md", shows={"dashboard": r"http://127\.0\.0\.1:\d+/#"}),
    Page("docs/en/design/dispatching.md"),
    Page(
        "docs/en/design/embedded.md",
        blocks=(1, 2),
        shows={"clusterqueues/": '"items":', "proxy/metrics": "kueue_pending_workloads"},
    ),
    Page("docs/en/guides/credentials.md"),
    Page("docs/en/guides/operating.md", blocks=(0, 1), shows={"get pods,lease": "lease.*/fleetqueue-controller"}),
    Page(
        "docs/en/guides/migrating.md",
        between={HELD: "kubectl delete jobs -n team-a --all"},
        shows={"explain placement": "Decided", "explain queue": ": Open", "doctor": "nothing wrong was found"},
    ),
    Page("docs/en/guides/lost-workers.md", shows={"get leases": "cluster1 +fleetqueue-fence"}),
    Page(
        "docs/en/guides/scores.md",
        between={
            WORKER: "kubectl config use-context cluster1; kubectl delete namespace fleetqueue-system --ignore-not-found"
        },
        shows={"get addonplacementscores": "cluster2 +resource-usage-score", "worker-agent": "deployment.* created"},
    ),
    Page("docs/en/guides/operating.md", blocks=(2,), shows={"uninstall": "(?i)kueue"}),
]
"""Pages that speak of a fleet as it is; those that take something away come last."""


@pytest.fixture
def fleet(empty) -> Shell:
    built_tools.kueuectl()
    for line in FLEET:
        empty.type(line)
    return empty


def type_page(shell: Shell, page: Page) -> None:
    for line in page.lines():
        if first := page.between.get(line):
            shell.type(first)
        wanted = [text for part, text in page.shows.items() if part in line]
        if line.startswith(UNTIL_CTRL_C):
            shell.type_until_ctrl_c(line, *wanted)
            continue
        said = shell.type(line, "\n" * 1000 if WITH_ENTER in line else "")
        assert all(re.search(text, said) for text in wanted), f"$ {line}\n{said}"


@pytest.mark.parametrize("page", OWN_FLEET, ids=str)
def test_a_page_that_starts_a_fleet_works_as_it_is_printed(empty, page):
    type_page(empty, page)


@pytest.mark.timeout(900)
def test_the_pages_about_a_fleet_work_as_they_are_printed(fleet):
    """All in one test: what a page takes away, those before it speak of."""
    for page in ON_A_FLEET:
        fleet.type("kubectl config use-context hub")
        type_page(fleet, page)


def test_no_page_and_no_line_is_left_out():
    pages = [
        path.relative_to(ROOT)
        for path in (
            ROOT / "README.md",
            ROOT / "CONTRIBUTING.md",
            *ROOT.glob("samples/*/*.md"),
            *ROOT.glob("docs/en/**/*.md"),
        )
    ]
    known = {page.path for page in (*OWN_FLEET, *ON_A_FLEET)} | ELSEWHERE.keys()
    left = {str(path) for path in pages if any(map(is_typed, lines_of(path)))} - known

    assert left == set()
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("README.md", "README.zh.md"), ("docs/en/guides/by-hand.md", "docs/zh/guides/by-hand.md")],
)
def test_both_languages_type_the_same(english, chinese):
    assert lines_of(english) == lines_of(chinese)
