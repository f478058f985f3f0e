"""Give the job scenarios to the real Kueue and record what it makes of them.

Run it after a change of the scenarios under tests/scenarios/kueue_jobs: `python tools/record_kueue_jobs.py`. It needs
the real engine (`fleetqueue engine build`) and takes about two and a half minutes.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.scenarios.kueue_jobs.world import RECORD, record, run_on_real


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fleetqueue-record-") as folder:
        ends = asyncio.run(run_on_real(Path(folder)))
    record(ends)
    print(f"{len(ends)} scenarios recorded in {RECORD}")


if __name__ == "__main__":
    main()
