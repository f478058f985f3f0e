"""Keep a selection from following every small change of the scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.controllers.placement_admission.selection import Selection
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Steadied:
    selection: Selection
    held_back: str = ""
    """Why the decision is not followed yet; empty where it is."""
    again_in: float = 0.0
    """Seconds after which to look again; 0 where only a change can help."""


def steady(
    decided: Selection,
    current: Sequence[str],
    *,
    score_of: Callable[[str], int],
    is_eligible: Callable[[str], bool],
    moves: Sequence[float],
    now: float,
    settings: PlacementAdmissionSettings,
) -> Steadied:
    """Follow the decision, or stay where it moved only for a score and the settings say not yet.

    A move is a swap: as many clusters leave as come, and those that leave could still be chosen. Anything else (a
    label, a taint, a new number of clusters) is what somebody wanted, and is followed at once. `moves` are the times
    of former swaps.
    """
    if not decided.is_decided:
        return Steadied(decided)
    leaving = [name for name in current if name not in decided.clusters]
    coming = [name for name in decided.clusters if name not in current]
    if not leaving or len(leaving) != len(coming) or not all(map(is_eligible, leaving)):
        return Steadied(decided)
    why, again_in = _too_soon(leaving, coming, score_of, moves, now, settings)
    if not why:
        return Steadied(decided)
    kept = [name for name in decided.clusters if name in current] + leaving
    scores: Mapping[str, int] = {name: score_of(name) for name in kept}
    ordered = tuple(sorted(kept, key=lambda name: (-scores[name], name)))
    return Steadied(Selection(ordered, scores), why, again_in)


def _too_soon(
    leaving: Sequence[str],
    coming: Sequence[str],
    score_of: Callable[[str], int],
    moves: Sequence[float],
    now: float,
    settings: PlacementAdmissionSettings,
) -> tuple[str, float]:
    gain = min(map(score_of, coming)) - max(map(score_of, leaving))
    if gain < settings.min_score_gain:
        return f"a gain of {gain} points is less than the {settings.min_score_gain} asked for", 0.0
    if moves and (left := moves[-1] + settings.min_dwell - now) > 0:
        return f"the selection is younger than {settings.min_dwell:g} s", left
    recent = [moment for moment in moves if moment + HOUR > now]
    if settings.max_moves_per_hour and len(recent) >= settings.max_moves_per_hour:
        wait = recent[-settings.max_moves_per_hour] + HOUR - now
        return f"{len(recent)} moves within the hour, {settings.max_moves_per_hour} are allowed", wait
    return "", 0.0
