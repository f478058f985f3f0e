"""A person with a terminal: whatever is typed goes to one fleet on this machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from fleetqueue.manifests.texts import example_text

SETUP = ("placement-demo2-1", "multikueue-setup-demo2")


def listening() -> None:
    """Let Ctrl-C through also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Typed:
    def __init__(self, folder) -> None:
        self.environ = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
        self.environ.pop("KUBECONFIG", None)
        self.kubeconfig: Path | None = None
        """That of the fleet with Kueue; None where none was brought up."""

    def start(self, *arguments, program="fleetqueue"):
        command = (sys.executable, "-m", "fleetqueue") if program == "fleetqueue" else (program,)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen((*command, *arguments), env=self.environ, text=True, preexec_fn=listening, **pipes)

    def __call__(self, *arguments, stdin="", **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(stdin, timeout=120)
        return process.returncode, out, err

    def bring_up(self, *options) -> None:
        """Start a fleet with the queues of the second story, for which cluster2 is selected."""
        code, _, err = self("up", "--scenario", "multikueue", "--detach", *options)
        assert code == 0, err
        self.kubeconfig = Path(self("kubeconfig", "--path")[1].strip())
        self.environ["KUBECONFIG"] = str(self.kubeconfig)
        self("clusterset", "bind", "spoke", "--namespace", "kueue-system")
        self("label", "managedcluster", "cluster2", "accelerator=nvidia-tesla-t4", program="kubectl")
        self("apply", "-f", "-", program="kubectl", stdin="---\n".join(map(example_text, SETUP)))


def job(name, seconds, fails=False):
    """Write a Job for that queue, which ends by itself."""
    manifest = yaml.safe_load(example_text("job-demo2"))
    manifest["metadata"] |= {"name": name, "generateName": None}
    manifest["spec"]["backoffLimit"] = 0
    template = manifest["spec"]["template"]
    template["spec"]["containers"][0]["args"] = [f"{seconds}s"]
    template["metadata"] = {"annotations": {"fleetqueue.dev/fails": "true" if fails else "false"}}
    return yaml.safe_dump(manifest)
