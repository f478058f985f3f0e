"""What is recorded of the real manager is what it says today."""

import pytest

from fleetqueue.real import layout
from tests.conformance.kueue_configurations.cases import recorded
from tests.conformance.kueue_configurations.real_manager import record

pytestmark = pytest.mark.records


@pytest.mark.timeout(300)
def test_the_record_of_configurations_is_current():
    if (found := layout.find()) is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")

    assert record(found.binary("kueue")) == recorded()
