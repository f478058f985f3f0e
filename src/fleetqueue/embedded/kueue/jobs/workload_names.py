"""The name of a job's Workload: the kind, the job's name, and some of a hash."""

import hashlib
from typing import Final

LONGEST: Final = 253
HASH: Final = 5


def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """Return the name that Kueue gives to the Workload of a job."""
    said = "\n".join((kind, group, name, uid))
    digest = hashlib.sha1(said.encode(), usedforsecurity=False).hexdigest()
    return f"{f'{kind.lower()}-{name}'[: LONGEST - 1 - HASH]}-{digest[:HASH]}"
