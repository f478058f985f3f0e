"""The three user stories on the real engine, told once; then one test for each id of the checklist."""

import pytest
import pytest_asyncio

from fleetqueue.assembly.lab import LabSettings
from fleetqueue.assembly.stories import theatre
from fleetqueue.assembly.stories.expectations import CHECKLIST, NOT_SHOWN, ExpectationFailed
from fleetqueue.assembly.stories.narrator import Silent
from fleetqueue.assembly.stories.stage import Stage
from fleetqueue.assembly.stories.telling import Which, expected, tell
from fleetqueue.engine import layout

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(900)]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def record(tmp_path_factory):
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    lines = []
    async with (
        theatre.opened(tmp_path_factory.mktemp("theatre") / "fleet", LabSettings(ocm="full"), lines.append) as place,
        Stage(place, Silent(), is_fast=True) as stage,
    ):
        try:
            await tell(stage, Which.ALL)
        except ExpectationFailed as failed:
            lines.append(str(failed))
    return stage.record


@pytest.mark.parametrize("expectation", expected(Which.ALL))
async def test_the_stories_show(record, expectation):
    outcome = record.of(expectation)

    assert outcome is not None, f"{expectation} was not reached; before it: {record.outcomes[-1]}"
    assert outcome.held, f"{outcome.sentence}: {outcome.note}"


async def test_every_id_of_the_checklist_is_shown_or_has_its_reason():
    assert set(expected(Which.ALL)) == set(CHECKLIST)
    assert not set(CHECKLIST) & set(NOT_SHOWN)
