"""Run kubectl: the stories show the very commands that a person would type."""

import asyncio
import shlex
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.real import layout

SECONDS: float = 90.0
"""No command of ours may take longer, also one that waits for a deletion."""


class KubectlFailed(Exception):
    """kubectl refused; the text has the command and what it said."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with one kubeconfig."""

    kubeconfig: Path
    program: Path | None = None
    """The engine's own where nothing else is named."""

    async def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command to its end; return what it printed."""
        program = self.program or layout.require().binary("kubectl")
        process = await asyncio.create_subprocess_exec(
            program,
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(SECONDS):
                out, err = await process.communicate(stdin.encode())
        except TimeoutError:
            raise KubectlFailed(f"kubectl {shlex.join(arguments)}: no end within {SECONDS:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise KubectlFailed(f"kubectl {shlex.join(arguments)}: {err.decode().strip()}")
        return out.decode() or err.decode()
