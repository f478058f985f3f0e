"""Each fault that is planted is found by its code, and gone when its steps were done."""

from dataclasses import dataclass
from functools import cache

import pytest

from fleetqueue.admin.checkups.examination import Diagnosis
from fleetqueue.admin.checkups.findings import Finding
from fleetqueue.testing.virtual_time import advance

from .examined_fleet import ExaminedFleet, told
from .faults import GROUPS, FaultGroup, PlantedFault

pytestmark = pytest.mark.timeout(600)
TABLE = [(group, fault) for group in GROUPS for fault in group.faults]


@dataclass
class Outcome:
    """What was found on a fleet before and after the steps."""

    found: Diagnosis
    after: Diagnosis


@cache
def outcome(group: FaultGroup) -> Outcome:
    outcomes = []

    async def story(fleet: ExaminedFleet) -> None:
        for fault in group.faults:
            await fault.plant(fleet)
        await advance(group.shows)
        before = await fleet.diagnosis()
        for fault in group.faults:
            await mend(fleet, fault, before)
        await advance(group.mends)
        outcomes.append(Outcome(before, await fleet.diagnosis()))

    told(story)
    return outcomes[0]


async def mend(fleet: ExaminedFleet, fault: PlantedFault, diagnosis: Diagnosis) -> None:
    """Do all steps of a code: others may have the same."""
    for finding in [one for one in diagnosis.findings if one.code == fault.code]:
        for step in finding.steps:
            if step.words:
                await fleet.do(step)
            else:
                assert fault.by_hand is not None, f"{fault.code}: nobody does this: {step.sentence}"
                await fault.by_hand(fleet)


def places(diagnosis: Diagnosis, code: str) -> list[str]:
    return [place(finding) for finding in diagnosis.findings if finding.code == code]


def place(finding: Finding) -> str:
    return f"{finding.cluster}: {finding.where}"


@pytest.mark.parametrize(("group", "fault"), [pytest.param(*row, id=row[1].code) for row in TABLE])
def test_a_planted_fault_is_found_and_gone_when_its_steps_are_done(group, fault):
    examined = outcome(group)

    assert fault.where in places(examined.found, fault.code)
    assert fault.where not in places(examined.after, fault.code)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_nothing_else_is_found(group):
    examined = outcome(group)

    planted = {fault.code for fault in group.faults}
    assert {one.code: place(one) for one in examined.found.findings if one.code not in planted | group.also} == {}
    assert {one.code: (place(one), one.wrong) for one in examined.after.findings if one.code not in group.left} == {}
