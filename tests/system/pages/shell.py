"""A person with a terminal in a checkout: pages are typed there line by line, with the real kubectl."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

from fleetqueue.real import tools
from tests.deploy import built_tools
from tests.system.asking import check_answers_at

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(?:console|text\nExample:)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^for .*; do\n(?:.*\n)*?done$|^.+$", re.MULTILINE)
OF_THE_CHECKOUT = ("benchmarks", "deploy", "examples", "samples", "tools")
INTERRUPTED = 130
THE_END = "fleetqueue down"
"""How a line begins after which there is a fleet less."""


def lines_of(page: str, numbers: Sequence[int] = ()) -> list[str]:
    """Return every line of a page, or of some of its blocks, in order.

    What is broken with a backslash is one, and so is a loop.
    """
    blocks = [dedent(block) for block in BLOCK.findall((ROOT / page).read_text())]
    chosen = [blocks[n] for n in numbers] or blocks
    return [line for block in chosen for line in LINE.findall(block.replace("\\\n", " "))]


def listening() -> None:
    """Let Ctrl-C through also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Shell:
    """Remembers the variables that were set, and ends whatever fleet was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.programs = folder / "bin"
        for made in (self.folder, self.programs):
            made.mkdir()
        for name in OF_THE_CHECKOUT:
            (self.folder / name).symlink_to(ROOT / name)
        binaries = Path(sys.executable).parent
        (self.folder / ".venv").symlink_to(binaries.parent)
        (self.programs / "fleetqueue").symlink_to(binaries / "fleetqueue")
        (self.programs / "kubectl").symlink_to(built_tools.kubectl())
        if kueuectl := tools.find(tools.KUEUECTL):
            (self.programs / "kueuectl").symlink_to(kueuectl)
        self.environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        self.environ["PATH"] = os.pathsep.join((str(self.programs), str(binaries), self.environ["PATH"]))
        self.environ.pop("KUBECONFIG", None)

    def type(self, line: str, keys: str = "") -> str:
        """Type one line and return what it prints; it must succeed."""
        if line.startswith(THE_END):
            self.check_answers()
        wrapped = f"set -a\n{line}\ncode=$?\nenv -0 > {self.programs}/.env\nexit $code"
        command = ["bash", "-o", "pipefail", "-c", wrapped]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ, input=keys, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"$ {line}\n{said}"
        self._remember()
        return said

    def type_until_ctrl_c(self, line: str, wanted: str, code: int = INTERRUPTED) -> str:
        """Type what runs until somebody presses Ctrl-C, who does so when something was printed."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line}"],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=listening,
        )
        said = ""
        try:
            for printed in process.stdout or ():
                said += printed
                if re.search(wanted, said):
                    process.send_signal(signal.SIGINT)
                    break
            said += process.communicate()[0]
        finally:
            process.kill()  # where it does not print that, the test ends before it does
        assert process.returncode == code, f"$ {line}\n{said}"
        return said

    def _remember(self) -> None:
        """Keep the variables of the line for those that follow."""
        pairs = (self.programs / ".env").read_text().split("\0")
        self.environ = {**self.environ, **dict(pair.split("=", 1) for pair in pairs if "=" in pair)}

    def check_answers(self) -> None:
        """See that each job which waits on a hub here has an answer; a fleet that is stopped cannot be asked."""
        for fleet in self._fleets():
            if fleet["state"] == "up":
                check_answers_at(Path(fleet["folder"]) / "kubeconfig")

    def close(self) -> None:
        """End every fleet that was started, also what a demo was asked to keep; see first that their jobs have answers.

        A demo that keeps nothing has ended its fleet by itself; the same stories are asked in tests/system/stories.
        """
        try:
            self.check_answers()
        finally:
            for fleet in self._fleets():
                self._run("down", "--delete", "--data-dir", fleet["folder"])

    def _fleets(self) -> list[dict[str, str]]:
        return json.loads(self._run("list", "-o", "json"))

    def _run(self, *arguments: str) -> bytes:
        command = [self.programs / "fleetqueue", *arguments]
        return subprocess.run(command, env=self.environ, capture_output=True, check=True).stdout
