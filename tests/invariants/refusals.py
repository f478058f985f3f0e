"""No embedded part is ever refused by its own cluster: it would only ask for what it lacks again and again."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fleetqueue.embedded.apiserver.auth.rbac import Rbac
from fleetqueue.fleets.systems import add_ons, kueue, ocm
from fleetqueue.fleets.systems.operators import OPERATORS

AGENTS = (ocm.registration_agent("c1", "https://c1"), ocm.work_agent("c1"), add_ons.accounts_agent())
ACCOUNTS = frozenset(
    f"system:serviceaccount:{part.namespace}:{part.account}"
    for part in (
        *ocm.HUB_PARTS,
        *add_ons.HUB_PARTS,
        kueue.KUEUE,
        kueue.JOBSET,
        *(one.part for one in OPERATORS),
        *AGENTS,
    )
)


@contextmanager
def no_part_is_refused() -> Iterator[None]:
    """Watch every question that is asked of roles meanwhile."""
    refused: list[str] = []
    decide = Rbac.reason

    def noting(self, asked):
        reason = decide(self, asked)
        if reason is None and asked.user.name in ACCOUNTS:
            what = f"{asked.verb} {asked.full_resource}.{asked.group} {asked.namespace}/{asked.name} {asked.path}"
            refused.append(f"{asked.user.name}: {what}")
        return reason

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rbac, "reason", noting)
        yield
    assert not refused, "\n".join(sorted(set(refused)))
