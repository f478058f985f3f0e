"""The end of a demo: counted, honest, and with what was not reached."""

from fleetqueue.cli.summary import group_of, summary
from fleetqueue.demo.expectations import ExpectationOutcome, Record

EXPECTED = ("ENV-1", "S1-1", "S1-2", "K-1")


def record(*outcomes: ExpectationOutcome) -> Record:
    found = Record()
    for outcome in outcomes:
        found.add(outcome)
    return found


def test_when_all_held_it_says_so():
    lines = summary(record(*(ExpectationOutcome(one, True, 0.1) for one in EXPECTED)), EXPECTED)

    assert lines[0] == "the environment               1 of  1 expectations held"
    assert lines[1] == "story 1, MultiKueue by hand   2 of  2 expectations held"
    assert lines[-1] == "All 4 expectations held."


def test_a_failure_and_what_was_not_reached_are_named():
    lines = summary(
        record(ExpectationOutcome("ENV-1", True, 0.1), ExpectationOutcome("S1-1", False, 60.0, "not connected")),
        EXPECTED,
    )

    assert "did not hold: S1-1 the MultiKueueClusters are Active: Connected: not connected" in lines
    assert "not reached: S1-2, K-1" in lines
    assert lines[-1] == "Not every expectation held."


def test_what_was_not_reached_is_no_success():
    assert summary(record(ExpectationOutcome("ENV-1", True, 0.1)), EXPECTED)[-1] == "Not every expectation held."


def test_the_interesting_waits_are_told():
    lines = summary(
        record(ExpectationOutcome("S2-6", True, 1.3), ExpectationOutcome("S2-6", True, 0.0, part="unchanged")),
        ("S2-6",),
    )

    assert any(line.startswith("job created -> admitted on a worker") and line.endswith("1.30s") for line in lines)


def test_what_the_environment_shows_counts_there_and_not_as_a_story_that_was_not_told():
    lines = summary(
        record(ExpectationOutcome("ENV-1", True, 0.1), ExpectationOutcome("S3-1", True, 0.1)), ("ENV-1", "S3-1")
    )

    assert lines[0] == "the environment               2 of  2 expectations held"
    assert not any(line.startswith("story 3") for line in lines)


def test_what_is_not_shown_is_one_line_with_where_to_read_on():
    lines = [line for line in summary(record(), ("ENV-2",)) if line.startswith("not shown here")]

    assert len(lines) == 1
    assert lines[0].endswith("tests show them (docs/en/reference/stories.md)")


def test_what_an_engine_cannot_show_is_told_with_its_reason():
    lines = summary(record(), ("ENV-1",))

    assert any(line.startswith("not shown here: ENV-2 (no kubelet runs here") for line in lines)


def test_ids_of_no_story_are_promises_of_all():
    assert (group_of("ENV-3"), group_of("S2-10"), group_of("ONCE"), group_of("K-1")) == ("ENV", "S2", "", "")
