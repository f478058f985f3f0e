"""Choose the level and the domains that hold all pods of a pod set.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findLevelWithFitDomains)
"""

from dataclasses import dataclass

from fleetqueue.embedded.kueue.topology.counting import CountedDomain, CountedTree
from fleetqueue.embedded.kueue.topology.order import best_fit, leader_first, ordered, ordered_for_leader
from fleetqueue.embedded.kueue.topology.requests import NotPlaced, PlacementParameters


@dataclass(frozen=True, slots=True)
class Selection:
    """One search; raises NotPlaced, in Kueue's words, where there is not room enough."""

    topology: str
    tree: CountedTree
    asked: PlacementParameters

    def domains(self, level: int) -> tuple[int, list[CountedDomain]]:
        """Return one domain of a level that is enough; else of the levels above; else several of the highest."""
        asked = self.asked
        if not self.tree.by_level[level]:
            raise NotPlaced(f"no topology domains at level: {self.tree.levels[level]}")
        candidates = ordered_for_leader(self.tree.by_level[level], least_first=asked.is_unconstrained)
        if (single := self._single(candidates)) is not None:
            return level, [single]
        if asked.is_required:
            raise NotPlaced(self._too_little(candidates[0].slices, level))
        if level > 0 and not asked.is_unconstrained:
            return self.domains(level - 1)
        return level, self._several(candidates, level)

    def _single(self, candidates: list[CountedDomain]) -> CountedDomain | None:
        asked, first = self.asked, candidates[0]
        if asked.is_unconstrained:
            enough = (one for one in candidates if self._is_enough(one))
            return next(enough, None)
        if first.slices_with_leader < asked.slices or first.leaders < asked.leaders:
            return None
        return best_fit(candidates, asked.slices, asked.leaders, by_slices=True)

    def _is_enough(self, one: CountedDomain) -> bool:
        asked = self.asked
        if asked.leaders:
            return one.leaders >= asked.leaders and one.slices_with_leader >= asked.slices
        return one.slices >= asked.slices

    def _several(self, candidates: list[CountedDomain], level: int) -> list[CountedDomain]:
        asked, chosen = self.asked, list[CountedDomain]()
        slices, leaders, at = asked.slices, asked.leaders, 0
        candidates = leader_first(candidates, slices, leaders, by_slices=True)
        while leaders > 0 and at < len(candidates) and candidates[at].leaders > 0:
            one = candidates[at]
            if not asked.is_unconstrained and one.slices_with_leader >= slices:
                one = best_fit(candidates[at:], slices, leaders, by_slices=True)
            chosen.append(one)
            leaders -= one.leaders
            slices -= one.slices_with_leader
            at += 1
        if leaders > 0:
            raise NotPlaced(self._too_little(asked.leaders - leaders, level))
        rest = ordered(candidates[at:], least_first=asked.is_unconstrained)
        for place, first in enumerate(rest):
            if slices <= 0:
                break
            one = first
            if not asked.is_unconstrained and one.slices >= slices:
                one = best_fit(rest[place:], slices, 0, by_slices=True)
            chosen.append(one)
            slices -= one.slices
        if slices > 0:
            raise NotPlaced(self._too_little(asked.slices - slices, level))
        return chosen

    def _too_little(self, fitting: int, level: int) -> str:
        asked = self.asked
        if asked.layers:
            return self._too_little_in_layers(level)
        unit = "pod" if asked.slice_size == 1 else "slice"
        if fitting:
            message = f'topology "{self.topology}" allows to fit only {fitting} out of {asked.slices} {unit}(s)'
        else:
            message = f'topology "{self.topology}" doesn\'t allow to fit any of {asked.slices} {unit}(s)'
        return message + self.tree.exclusions.sentence

    def _too_little_in_layers(self, level: int) -> str:
        best = min(self.tree.by_level[level], key=lambda one: (-one.slices, ",".join(one.values)))
        levels = self.tree.levels
        fitting = [
            f"; {_slices_below(best, levels.index(layer.topology) - level, layer.size)}/"
            f"{self.asked.count // layer.size} slice(s) fit on level {layer.topology}"
            for layer in self.asked.layers
        ]
        return f'topology "{self.topology}" doesn\'t allow to fit{"".join(fitting)}{self.tree.exclusions.sentence}'


def _slices_below(domain: CountedDomain, levels: int, size: int) -> int:
    if levels <= 0:
        return domain.pods // size
    return sum(_slices_below(child, levels - 1, size) for child in domain.children)
