"""Give the ManagedServiceAccounts of the tests to upstream's own agent, and write down what it makes of them.

Run it after a change of tests/unit/embedded/ocm/managed_service_accounts/upstream.py. It needs the real engine
(`fleetqueue engine build`), builds the agent from its Go module the first time, and takes a minute.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleetqueue.real.layout import find
from tests.conformance.add_ons import accounts
from tests.conformance.add_ons.building import ACCOUNTS, build

if __name__ == "__main__":
    if find() is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    built = asyncio.run(build(ACCOUNTS))
    with tempfile.TemporaryDirectory(prefix="fleetqueue-record-") as folder:
        ends = asyncio.run(accounts.run(Path(folder), built))
    accounts.record(ends)
    print(f"managed service accounts: {len(ends)} objects")
