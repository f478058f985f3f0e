"""A selection does not follow every small change of the scores."""

import pytest

from fleetqueue.controllers.placement_admission.flapping import steady
from fleetqueue.controllers.placement_admission.selection import Selection
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings

NOW = 10_000.0
SCORES = {"a": 10, "b": 20, "c": 30, "d": 40}


def follow(decided, current, *, eligible=True, moves=(), scores=SCORES, **settings):
    return steady(
        Selection(tuple(decided), {name: scores[name] for name in decided}),
        list(current),
        score_of=lambda name: scores[name],
        is_eligible=(lambda name: eligible) if isinstance(eligible, bool) else (lambda name: name in eligible),
        moves=list(moves),
        now=NOW,
        settings=PlacementAdmissionSettings(**settings),
    )


@pytest.mark.parametrize(
    ("decided", "current", "options"),
    [
        pytest.param("b", "a", {}, id="every setting is off"),
        pytest.param("b", "a", {"min_score_gain": 10}, id="a gain that is just enough"),
        pytest.param("ab", "a", {"min_score_gain": 99}, id="one more cluster"),
        pytest.param("a", "ab", {"min_score_gain": 99}, id="one cluster less"),
        pytest.param("cd", "a", {"min_score_gain": 99}, id="two come for one"),
        pytest.param("b", "a", {"min_score_gain": 99, "eligible": False}, id="the old one cannot be chosen any more"),
        pytest.param(
            "cd", "ab", {"min_score_gain": 99, "eligible": "a"}, id="one of the old cannot be chosen any more"
        ),
        pytest.param("a", "", {"min_score_gain": 99}, id="the first choice"),
        pytest.param("", "a", {"min_score_gain": 99}, id="an empty choice"),
        pytest.param("a", "a", {"min_score_gain": 99}, id="no change"),
        pytest.param("b", "a", {"min_dwell": 60.0}, id="no former move"),
        pytest.param("b", "a", {"min_dwell": 60.0, "moves": [NOW - 60]}, id="the selection is old enough"),
        pytest.param("b", "a", {"max_moves_per_hour": 2, "moves": [NOW - 10]}, id="one of two moves is left"),
        pytest.param("b", "a", {"max_moves_per_hour": 1, "moves": [NOW - 3600]}, id="the last move is an hour old"),
    ],
)
def test_the_decision_is_followed(decided, current, options):
    steadied = follow(decided, current, **options)

    assert steadied.selection.clusters == tuple(decided)
    assert (steadied.held_back, steadied.again_in) == ("", 0.0)


@pytest.mark.parametrize(
    ("decided", "current", "options", "kept", "again_in"),
    [
        pytest.param("b", "a", {"min_score_gain": 11}, "a", 0.0, id="too small a gain"),
        pytest.param("a", "b", {"min_score_gain": 1}, "b", 0.0, id="a loss"),
        pytest.param("cd", "ac", {"min_score_gain": 31}, "ca", 0.0, id="one of two, best first"),
        pytest.param("cd", "ab", {"min_score_gain": 11}, "ba", 0.0, id="the smallest gain of a pair counts"),
        pytest.param("b", "a", {"min_dwell": 60.0, "moves": [NOW - 20]}, "a", 40.0, id="too young"),
        pytest.param(
            "b", "a", {"min_dwell": 60.0, "moves": [NOW - 600, NOW - 20]}, "a", 40.0, id="the last move counts"
        ),
        pytest.param("b", "a", {"max_moves_per_hour": 1, "moves": [NOW - 600]}, "a", 3000.0, id="no move left"),
        pytest.param(
            "b",
            "a",
            {"max_moves_per_hour": 2, "moves": [NOW - 3000, NOW - 600]},
            "a",
            600.0,
            id="when the older is old",
        ),
        pytest.param(
            "b",
            "a",
            {"max_moves_per_hour": 1, "moves": [NOW - 3000, NOW - 600]},
            "a",
            3000.0,
            id="more moves than are allowed now",
        ),
    ],
)
def test_the_decision_is_held_back(decided, current, options, kept, again_in):
    steadied = follow(decided, current, **options)

    assert steadied.selection.clusters == tuple(kept)
    assert steadied.selection.scores == {name: SCORES[name] for name in kept}
    assert steadied.held_back
    assert steadied.again_in == again_in


def test_what_was_not_decided_yet_is_no_reason_to_move():
    undecided = Selection((), is_decided=False)

    steadied = steady(
        undecided,
        ["a"],
        score_of=SCORES.__getitem__,
        is_eligible=lambda name: True,
        moves=[],
        now=NOW,
        settings=PlacementAdmissionSettings(min_score_gain=5),
    )

    assert steadied.selection is undecided
