"""Do the cases of `tests/conformance/api_cases` to a real kube-apiserver, and write down what it answers.

Run it after a change of the cases: `python tools/record_api_cases.py`, or with the subjects that changed. It needs the
real engine (`fleetqueue engine build`) and starts only etcd and the API server, for a minute or two.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleetqueue.real.layout import Layout, find
from tests.conformance.api_cases import records
from tests.conformance.api_cases.cases import load, subjects
from tests.conformance.api_cases.http_door import OverHttp
from tests.conformance.api_cases.real_server import real_server
from tests.conformance.api_cases.running import run


async def record(door: OverHttp, subject: str) -> None:
    places = records.namespaces()
    answers = {case.name: await run(door, case, places[case.id]) for case in load(subject)}
    records.write(subject, answers)
    print(f"{subject}: {len(answers)} cases")


async def main(layout: Layout, chosen: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with real_server(layout, Path(folder)) as door:
            for subject in chosen:
                await record(door, subject)


def chosen(names: Sequence[str]) -> list[str]:
    """Return some subjects, or all where none is named; ends where there is no such subject."""
    known = subjects()
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no subject {', '.join(unknown)}; the subjects are {', '.join(known)}")
    return list(names) or known


if __name__ == "__main__":
    asked = chosen(sys.argv[1:])
    found = find()
    if found is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    asyncio.run(main(found, asked))
