"""What the real manager does with a configuration, without any cluster: it says what is wrong before it needs one.

To record it anew: python -m tests.conformance.kueue_configurations.real_manager
"""

import json
import subprocess
import tempfile
from pathlib import Path

from fleetqueue.real import layout
from tests.conformance.kueue_configurations.cases import RECORD, load

SECONDS = 60
SETUP = "setup"
GATES = "Loaded feature gates"
HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def record(program: Path) -> dict:
    """Ask it everything anew."""
    refusals = {case.name: refusal(program, case.text, *case.arguments) for case in load()}
    return {"refusals": refusals, "gates": gates(program)}


def refusal(program: Path, text: str, *arguments: str) -> str:
    """Return what it says to a configuration; nothing where it would start."""
    for line in _run(program, text, *arguments):
        if line["level"] == "error" and line.get("logger") == SETUP:
            return f"{line['msg']}: {line['error']}"
    return ""


def gates(program: Path) -> dict:
    """Return the gates that it knows: how they are by default, which are locked, and which the names for many turn."""
    by_default = _loaded(program, "")

    def is_locked(name: str) -> bool:
        other = "false" if by_default[name] else "true"
        return "feature is locked" in refusal(program, HEAD, f"--feature-gates={name}={other}")

    def turned(argument: str) -> list[str]:
        return [name for name, is_on in _loaded(program, argument).items() if is_on != by_default[name]]

    return {
        "by default": by_default,
        "locked": [name for name in by_default if is_locked(name)],
        "AllAlpha": turned("AllAlpha=true"),
        "AllBeta": turned("AllBeta=false"),
    }


def _loaded(program: Path, argument: str) -> dict[str, bool]:
    lines = _run(program, HEAD, "--zap-log-level=2", f"--feature-gates={argument}")
    return next(dict(sorted(line["featureGates"].items())) for line in lines if line["msg"] == GATES)


def _run(program: Path, text: str, *arguments: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.yaml")
        file.write_text(text)
        done = subprocess.run(
            [program, f"--config={file}", *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={"HOME": folder},
        )
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    RECORD.write_text(json.dumps(record(layout.require().binary("kueue")), indent=2) + "\n")
