"""An embedded fleet with jobs of every state, in a process of its own, for the page to show."""

from dataclasses import dataclass
from pathlib import Path

from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, start_in_background
from fleetqueue.lab import control

WORKERS = ("cluster1", "cluster2")
EXAMPLES = Path(__file__).parents[3] / "examples"
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
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
          resources: {{requests: {{cpu: {cpu}, memory: 1Gi}}}}
"""


@dataclass
class FleetWithJobs:
    folder: Path

    @property
    def kubeconfig(self):
        return self.folder / "kubeconfig"

    def client(self, context="hub"):
        return connect(load(self.kubeconfig, context))

    async def start(self):
        settings = EmbeddedSettings(workers=len(WORKERS), in_memory=True, scenario="multikueue")
        await start_in_background(self.folder, settings, lambda line: None)
        clients = {name: self.client(name) for name in ("hub", *WORKERS)}
        try:
            await arrange(OwnKubectl(clients).run)
        finally:
            for client in clients.values():
                await client.close()

    async def submit(self, name, queue="user-queue-demo1", **options):
        client = self.client()
        try:
            await OwnKubectl({"hub": client}).run("create", "-f", "-", stdin=job(name, queue, **options))
        finally:
            await client.close()

    async def stop(self):
        await control.down(self.folder, delete=True)


async def arrange(kubectl):
    """Make the queues of stories 1 and 2, without a Placement for the second, and jobs for both."""
    for worker in WORKERS:
        await kubectl("apply", "-f", str(EXAMPLES / "single-clusterqueue.yaml"), "--context", worker)
    for name in ("multikueue-setup-demo1", "multikueue-setup-demo2"):
        await kubectl("apply", "-f", str(EXAMPLES / f"{name}.yaml"))
    await kubectl("create", "-f", "-", stdin=job("short", run_for="1s"))
    await kubectl("create", "-f", "-", stdin=job("broken", run_for="1s", fails="true"))
    await kubectl("create", "-f", "-", stdin=job("long", run_for="1h", cpu=7))
    await kubectl("create", "-f", "-", stdin=job("nowhere", "user-queue-demo2"))
    for condition, name in (("complete", "short"), ("failed", "broken")):
        await kubectl("wait", f"--for=condition={condition}", f"job/{name}", "--timeout=60s")
    await kubectl("create", "-f", "-", stdin=job("next", cpu=6))
    await kubectl("create", "-f", "-", stdin=job("last", cpu=6))


def job(name, queue="user-queue-demo1", *, run_for="1h", fails="false", cpu=1):
    return JOB.format(name=name, queue=queue, run_for=run_for, fails=fails, cpu=cpu)
