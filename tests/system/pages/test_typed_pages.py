"""Every command of the pages is typed, in the world that the page speaks of, or it is said why not."""

import pytest

from tests.deploy import built_tools

from .page import Page, is_typed, type_page
from .shell import ROOT, lines_of

ELSEWHERE = {
    "docs/en/guides/jobs.md": "tests/docs/test_jobs_page.py",
    "docs/en/start/install.md": "tests/docs/test_install_page.py",
    "docs/en/guides/testing.md": "tests/system/kit/test_guide.py",
    "samples/testing-your-operator/README.md": "tests/system/kit/test_sample_project.py",
}
"""Pages that another test types; those of commands are typed by test_typed_commands.py beside this."""
COMMANDS = ("docs/en/reference/cli.md", "docs/en/reference/commands/")
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
            "get events": r"default/tas-sample-job-\w+ to tas-node-[12]",
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

pytestmark = pytest.mark.timeout(420)


@pytest.mark.parametrize("page", OWN_FLEET, ids=str)
def test_a_page_that_starts_a_fleet_works_as_it_is_printed(empty, page):
    type_page(empty, page)


@pytest.mark.timeout(900)
def test_the_pages_about_a_fleet_work_as_they_are_printed(fleet):
    """All in one test: what a page takes away, those before it speak of."""
    built_tools.kueuectl()
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
    typed = {str(path) for path in pages if any(map(is_typed, lines_of(path)))}
    left = {page for page in typed - known if not page.startswith(COMMANDS)}

    assert left == set()
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


@pytest.mark.parametrize(
    ("english", "chinese"),
    [("README.md", "README.zh.md"), ("docs/en/guides/by-hand.md", "docs/zh/guides/by-hand.md")],
)
def test_both_languages_type_the_same(english, chinese):
    assert lines_of(english) == lines_of(chinese)
