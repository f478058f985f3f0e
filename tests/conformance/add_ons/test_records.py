"""What is recorded of the add-ons' own programs is what they do today."""

import asyncio
import json

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import layout
from tests.conformance.add_ons import accounts
from tests.conformance.add_ons.building import ACCOUNTS, build
from tests.unit.embedded.ocm.managed_service_accounts.upstream import RECORD

pytestmark = pytest.mark.records


@pytest.mark.timeout(600)
def test_the_record_of_managed_service_accounts_is_current(tmp_path):
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    try:
        built = asyncio.run(build(ACCOUNTS))
    except EngineError as error:
        pytest.skip(f"managed-serviceaccount cannot be built here: {error}")

    ends = asyncio.run(accounts.run(tmp_path, built))

    assert ends == json.loads(RECORD.read_text())


@pytest.mark.skip(reason="cluster-permission is no module that the Go proxy gives out; its record is kept by hand")
def test_the_record_of_cluster_permissions_is_current():
    """See tests/unit/controllers/cluster_permissions: made once of the sources, by hand."""
