"""Whatever is put where in an object: it is stored, or refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.admission.chain import Chain
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from tests.conformance.api_cases.asking import BASES

KINDS = {served.resource.plural: served for served in built_in() if served.resource.plural in BASES}
VALUES = st.sampled_from(["", "A b", "x", "10%", "a/b", -1, 0, 1.5, 2**40, True, None, [], {}, [None], {"a": None}])


def places(value, path=()):
    """Yield the path of every value in an object."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("plural", sorted(KINDS))
@given(data=st.data())
async def test_a_value_at_any_place_is_stored_or_refused(plural, data):
    base = {"metadata": {"name": "x", "labels": {"a": "b"}}, **BASES[plural]}
    where = data.draw(st.sampled_from([path for path in places(base) if path]))
    body = put(base, where, data.draw(VALUES))
    store = RegistryStore(await ClusterStorage.open(MemoryLog()), Chain())

    assert await code_of(store.create(KINDS[plural], "ns", body, Write(User("alice")))) in (201, 400, 422)


async def code_of(creation):
    try:
        await creation
    except errors.ApiError as error:
        return error.code
    return 201
