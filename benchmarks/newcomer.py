"""How long does a newcomer wait? Each answer is timed in a fresh clone, or a fresh environment with only the wheel.

- to the first dispatched job: `make install`, a fleet, the queue of the guide to jobs, and a job that a worker admits
- to a green test: `pip install` of the wheel with pytest, and one test with the fixture `fleet`, and with `live_fleet`

Packages come from wherever pip is told to look, so what is installed is measured apart.

    make bench ONLY=newcomer
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from measuring.table import Rows

ROOT = Path(__file__).parents[1]
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: first, labels: {kueue.x-k8s.io/queue-name: user-queue-demo2}}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 1h}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
"""
TO_A_FLEET = ("fleetqueue up --scenario multikueue --detach",)
TO_A_QUEUE = (
    "fleetqueue clusterset bind spoke --namespace kueue-system",
    "kubectl label managedcluster cluster2 cluster3 accelerator=nvidia-tesla-t4",
    "fleetqueue examples placement-demo2-1 multikueue-setup-demo2 | kubectl apply -f -",
)
TO_A_JOB = (
    "fleetqueue submit -f job.yaml",
    "until kubectl wait --for=condition=Admitted workload --all --timeout=60s; do sleep 0.1; done",
)
TESTS = {
    "fleet": """
async def test_a_job_ends(fleet):
    fleet.add(JOB)
    await fleet.advance("1m")
    assert fleet.get("job", "first")
""",
    "live_fleet": """
def test_a_job_is_there(live_fleet):
    live_fleet.add(JOB)
    assert live_fleet.get("job", "first")
""",
}


class Newcomer(Rows):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"):
            self.environ.pop(name, None)

    def timed(self, question: str, lines: Sequence[str], where: Path, more: Mapping[str, str] | None = None) -> float:
        """Type lines in a shell, and note how long all of them took together."""
        begin = perf_counter()
        for line in lines:
            subprocess.run(
                ("bash", "-euo", "pipefail", "-c", line),
                cwd=where,
                env={**self.environ, **(more or {})},
                check=True,
                stdout=subprocess.DEVNULL,
            )
        took = perf_counter() - begin
        self.row(question, f"{took:.1f} s")
        return took

    def first_job(self) -> None:
        clone = self.folder / "clone"
        subprocess.run(("git", "clone", "--quiet", ROOT, clone), check=True)
        (clone / "job.yaml").write_text(JOB)
        path = {"PATH": f"{clone}/.venv/bin{os.pathsep}{os.environ['PATH']}"}
        path["KUBECONFIG"] = str(self.folder / "state" / "fleetqueue" / "lab" / "kubeconfig")
        installed = self.timed("fresh clone: make install", [f"make install PYTHON={sys.executable}"], clone)
        try:
            took = [
                self.timed("  a fleet is up", TO_A_FLEET, clone, path),
                self.timed("  it has a queue", TO_A_QUEUE, clone, path),
                self.timed("  a job is admitted on a worker", TO_A_JOB, clone, path),
            ]
        finally:
            subprocess.run(
                ("fleetqueue", "down", "--delete"), env={**self.environ, **path}, check=False, stdout=subprocess.DEVNULL
            )
        self.row("to the first dispatched job, installed or not", f"{sum(took):.1f} s, {sum(took) + installed:.1f} s")

    def green_tests(self) -> None:
        python = self.folder / "environment" / "bin" / "python"
        self.timed(
            "the wheel: build",
            [f"{sys.executable} -m uv build --quiet --wheel --out-dir {self.folder} {ROOT}"],
            self.folder,
        )
        (wheel,) = self.folder.glob("fleetqueue-*.whl")
        installed = self.timed(
            "  pip install in a fresh environment",
            [
                f"{sys.executable} -m venv {self.folder}/environment",
                f"{python} -m pip install --quiet --disable-pip-version-check {wheel} pytest 'pytest-asyncio>=1.4'",
            ],
            self.folder,
        )
        for fixture, test in TESTS.items():
            (self.folder / f"test_{fixture}.py").write_text(f'JOB = """{PLAIN_JOB}"""\n{test}')
            line = f"{python} -m pytest -q -p no:cacheprovider test_{fixture}.py"
            took = self.timed(f"  a test with {fixture} is green", [line], self.folder)
            self.row(f"from pip install to a green test with {fixture}", f"{installed + took:.1f} s")


PLAIN_JOB = JOB.replace(", labels: {kueue.x-k8s.io/queue-name: user-queue-demo2}", ", namespace: default")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder))
        newcomer.first_job()
        newcomer.green_tests()
    newcomer.show("a newcomer", "")


if __name__ == "__main__":
    main()
