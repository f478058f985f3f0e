"""Take pictures of the dashboard of an embedded fleet with jobs, for the README and the docs: draw_dashboard.py FOLDER

A fleet of three workers runs the queues of the stories for two minutes, while jobs come in waves.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from fleetqueue.admin.cluster_sets import bind
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.dashboard.server import Dashboard, DashboardSettings
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, start_in_background
from fleetqueue.lab import control
from fleetqueue.testing.browser import Browser, find

EXAMPLES = Path(__file__).parents[1] / "examples"
CONTEXTS = ("hub", "cluster1", "cluster2", "cluster3")
CPU_QUEUE, GPU_QUEUE = "user-queue-demo1", "user-queue-demo2"
WAVES = (
    # queue, name, how many, how long, CPUs, whether they fail
    [(CPU_QUEUE, "etl", 4, "14s", 2, False), (GPU_QUEUE, "train", 2, "40s", 1, False)],
    [(CPU_QUEUE, "report", 5, "18s", 2, False), (CPU_QUEUE, "lint", 1, "6s", 1, True)],
    [(GPU_QUEUE, "train", 2, "70s", 1, False), (CPU_QUEUE, "etl", 3, "25s", 3, False)],
    [(CPU_QUEUE, "report", 4, "30s", 2, False), (GPU_QUEUE, "tune", 1, "8s", 1, True)],
    [(CPU_QUEUE, "sweep", 6, "90s", 2, False), (GPU_QUEUE, "train", 4, "90s", 1, False)],
)
WAVE_SECONDS = 18
QUALITY = 80
PICTURES = {
    # language, width, whether dark
    "dashboard.webp": ("en", 1280, False),
    "dashboard-390.webp": ("en", 390, True),
    "dashboard.zh.webp": ("zh", 1280, False),
    "dashboard-390.zh.webp": ("zh", 390, True),
}
HEIGHT = 1240
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  generateName: {name}-
  namespace: default
  labels: {{kueue.x-k8s.io/queue-name: {queue}}}
spec:
  suspend: true
  backoffLimit: 0
  template:
    metadata:
      annotations: {{fleetqueue.dev/run-for: {run_for}, fleetqueue.dev/fails: "{fails}"}}
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: busybox
          resources:
            limits: {{{amounts}}}
"""
Kubectl = Callable[..., Awaitable[str]]


def main() -> int:
    if find() is None:
        print("NOT DRAWN: the dashboard, since there is no Chromium; `make browser` installs it", file=sys.stderr)
        return 0
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for name, picture in asyncio.run(drawn_of_new_fleet(Path(place))).items():
            (folder / name).write_bytes(picture)
            print(f"{folder / name}: drawn")
    return 0


async def drawn_of_new_fleet(folder: Path) -> dict[str, bytes]:
    settings = EmbeddedSettings(workers=3, in_memory=True, scenario="multikueue")
    await start_in_background(folder / "fleet", settings, lambda line: None)
    try:
        return await drawn(folder)
    finally:
        await control.down(folder / "fleet", delete=True)


async def drawn(folder: Path) -> dict[str, bytes]:
    """Let jobs come and go, with the dashboard served from the beginning; return how it looks in the end."""
    clients = {name: connect(load(folder / "fleet" / "kubeconfig", name)) for name in CONTEXTS}
    dashboard = Dashboard(clients["hub"], DashboardSettings("https://hub.example"))
    try:
        kubectl = OwnKubectl(clients).run
        await bind(clients["hub"], "spoke", "kueue-system")
        await arrange(kubectl)
        async with dashboard.serving(), Browser.open(folder / "profile") as browser:
            for wave in WAVES:
                await submit(kubectl, wave)
                await asyncio.sleep(WAVE_SECONDS)
            return {name: await photograph(browser, dashboard.link, *look) for name, look in PICTURES.items()}
    finally:
        for client in clients.values():
            await client.close()


async def arrange(kubectl: Kubectl) -> None:
    for worker in CONTEXTS[1:]:
        await kubectl("apply", "-f", str(EXAMPLES / "single-clusterqueue.yaml"), "--context", worker)
    for name in ("multikueue-setup-demo1", "multikueue-setup-demo2", "placement-demo2-1"):
        await kubectl("apply", "-f", str(EXAMPLES / f"{name}.yaml"))
    for worker in ("cluster2", "cluster3"):
        await kubectl("label", "managedcluster", worker, "accelerator=nvidia-tesla-t4", "--overwrite")


async def submit(kubectl: Kubectl, wave: list[tuple[str, str, int, str, int, bool]]) -> None:
    for queue, name, count, run_for, cpus, fails in wave:
        amounts = f"cpu: {cpus}, memory: 2Gi" + (", nvidia.com/gpu: 1" if queue == GPU_QUEUE else "")
        text = JOB.format(queue=queue, name=name, run_for=run_for, fails=str(fails).lower(), amounts=amounts)
        for _ in range(count):
            await kubectl("create", "-f", "-", stdin=text)


async def photograph(browser: Browser, link: str, language: str, width: int, dark: bool) -> bytes:
    await browser.look(width=width, height=HEIGHT, dark=dark)
    await browser.speak(language)
    await browser.go(link)
    await browser.until("document.querySelector('table.jobs tbody th')")
    await browser.until("document.querySelector('.live').dataset.state === 'live'")
    return await browser.screenshot(whole=False, form="webp", quality=QUALITY)


if __name__ == "__main__":
    sys.exit(main())
