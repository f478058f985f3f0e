"""Commands typed by a shell whose kubectl and fleetqueue know a fleet."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetqueue.real import layout

HEALTHY, ERRORS, WARNINGS = 0, 4, 5
LOOKS = 60
"""How often it is looked again whether something shows, or is gone, at most."""


@dataclass(frozen=True)
class Shell:
    kubeconfig: Path
    engine: layout.Layout

    async def type(self, line: str) -> tuple[int, str]:
        """Run a line; return its exit code and what it printed."""
        async with self.typed(line) as process:
            out, err = await process.communicate()
        return process.returncode or 0, out.decode() or err.decode()

    @asynccontextmanager
    async def typed(self, line: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Let a line run, until it ends or the block does."""
        programs = [self.engine.binary("kubectl").parent, Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", line),
            env={**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()

    async def run(self, *lines: str) -> str:
        """Run lines, all of which must work; return what the last one printed."""
        text = ""
        for line in lines:
            code, text = await self.type(line)
            assert code == 0, f"{line}: {text}"
        return text

    async def doctor(self) -> tuple[int, dict[str, Any]]:
        code, text = await self.type("fleetqueue doctor -o json")
        assert code in (HEALTHY, ERRORS, WARNINGS), text
        return code, json.loads(text)

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Look until the diagnosis is as it should be: Kueue and the agents need their time."""
        for _ in range(LOOKS):
            _, document = await self.doctor()
            if holds(document):
                return document
        raise AssertionError(json.dumps(document, indent=2))


def applied(*manifests: dict[str, Any], context: str = "hub") -> str:
    """Write the line that creates or completes objects."""
    text = "\n---\n".join(map(json.dumps, manifests))
    return f"kubectl --context {context} apply -f - <<'EOF'\n{text}\nEOF"
