"""What comes of ManagedServiceAccounts is what upstream's own agent made of them.

Recorded from managed-serviceaccount v0.8.0 (Go, unchanged; gate EphemeralIdentity, health by lease) on kube-apiserver
1.36.3. Dates, uids and bytes are left out; the life of a token is told in seconds, to the nearest ten.
"""

import json

import pytest

from .upstream import RECORD, begin, end_state, meddle

RECORDED = json.loads(RECORD.read_text())


@pytest.fixture
async def ended(env):
    await env.fleet.advance(60)  # the garbage collector looks for new kinds every half minute
    async with env.agent(), env.hub_half():
        begin(env)
        await env.fleet.advance(8)
        meddle(env)
        await env.fleet.advance(16)
        return end_state(env)


@pytest.mark.fleet(workers=1)
async def test_all_ends_as_upstream_ended_it(ended):
    assert ended == RECORDED
