"""The record of the table is what a real kube-apiserver answers today."""

import pytest

from tests.conformance.api_cases import records
from tests.conformance.api_cases.cases import load, subjects
from tests.conformance.api_cases.comparing import differences
from tests.conformance.api_cases.real_server import real_server
from tests.conformance.api_cases.running import run

pytestmark = [pytest.mark.records, pytest.mark.timeout(600)]


async def test_the_record_is_what_a_real_server_answers(layout, tmp_path):
    places, wrong = records.namespaces(), {}

    async with real_server(layout, tmp_path) as door:
        for subject in subjects():
            for case in load(subject):
                answers = await run(door, case, places[case.id])
                if found := differences(case, answers, records.of(case)):
                    wrong[case.id] = found

    assert wrong == {}


@pytest.mark.parametrize("subject", subjects())
def test_nothing_is_recorded_that_no_case_asks(subject):
    assert list(records.read(subject)) == [case.name for case in load(subject)]
