"""Draw what `submit --follow` and `explain` print as pictures of narrow and wide terminals, for the docs.

Usage: draw_commands.py FOLDER

An embedded fleet with the queue of story 2 is started for it, and ended afterwards; nothing of what is printed is
changed.
"""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

from draw_demo import without_foreign_fonts
from rich.ansi import AnsiDecoder
from rich.console import Console

BINARIES = Path(sys.executable).parent
BEFORE = (
    "fleetqueue up --scenario multikueue --detach --in-memory",
    "fleetqueue clusterset bind spoke --namespace kueue-system",
    "kubectl label managedcluster cluster2 cluster3 accelerator=nvidia-tesla-t4",
    "fleetqueue examples placement-demo2-1 multikueue-setup-demo2 | kubectl apply -f -",
)
JOBS = (
    "sed 's/name: train/name: first/; s/10s/1h/; s/cpu: 2/cpu: 4/' train.yaml | fleetqueue submit -f -",
    "sed 's/name: train/name: large/; s/10s/1h/; s/cpu: 2/cpu: 8/' train.yaml | fleetqueue submit -f -",
)
TRAIN = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: user-queue-demo2}}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 10s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: 2}}}]
"""
WIDTHS = (80, 200)
"""Of terminals, in columns."""
PICTURES = {"submit": "fleetqueue submit -f train.yaml --follow", "explain": "fleetqueue explain job large"}
AFTER = "kubectl delete job train"


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "XDG_STATE_HOME": place, "PATH": f"{BINARIES}{os.pathsep}{os.environ['PATH']}"}
        environment["KUBECONFIG"] = f"{place}/fleetqueue/lab/kubeconfig"
        try:
            for line in BEFORE:
                run(line, place, environment)
            for name, picture in pictures(place, environment):
                (folder / name).write_text(picture)
                print(f"{folder / name}: drawn")
        finally:
            subprocess.run(("fleetqueue", "down", "--delete"), env=environment, check=False, stdout=subprocess.DEVNULL)
    return 0


def pictures(place: str, environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each picture, of a fleet that has the queue and no such jobs."""
    (Path(place) / "train.yaml").write_text(TRAIN)
    for line in JOBS:
        run(line, place, environment)
    for width in WIDTHS:
        for name, line in PICTURES.items():
            yield f"{name}-{width}.svg", drawn(line, typed(line, place, environment, width), width)
        run(AFTER, place, environment)


def run(line: str, place: str, environment: dict[str, str]) -> None:
    subprocess.run(line, shell=True, cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)


def typed(line: str, place: str, environment: dict[str, str], width: int) -> str:
    """Return what a line prints on a terminal of this width, as it stands there in the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen(line.split(), cwd=place, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    while chunk := read(ours):
        printed += chunk
    process.wait()
    return printed.decode()


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # who wrote has closed it
        return b""


def drawn(line: str, printed: str, width: int) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    decoder = AnsiDecoder()  # one for all rows: a colour may last for several
    for row in printed.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        console.print(decoder.decode_line(row.rpartition("\x1b[2K")[2]), overflow="fold")
    return without_foreign_fonts(console.export_svg(title=f"$ {line}"))


if __name__ == "__main__":
    sys.exit(main())
