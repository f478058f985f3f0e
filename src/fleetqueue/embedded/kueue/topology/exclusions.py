"""How many nodes were left out of a placement, and for what."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Exclusions:
    total: int = 0
    """All nodes that were looked at."""
    node_selector: int = 0
    affinity: int = 0
    domain: int = 0
    """Outside of the domain that a replacement must stay in."""
    taints: Counter[str] = field(default_factory=Counter)
    resources: Counter[str] = field(default_factory=Counter)
    """Nodes that have no place for one pod, by the resource of which there is least."""

    def copy(self) -> "Exclusions":
        return Exclusions(
            self.total, self.node_selector, self.affinity, self.domain, Counter(self.taints), Counter(self.resources)
        )

    @property
    def sentence(self) -> str:
        """Say it, to be put after what failed; nothing where no node was left out."""
        simple = (
            ("nodeSelector", self.node_selector),
            ("affinity", self.affinity),
            ("topologyDomain", self.domain),
        )
        reasons = [f"{name}: {count}" for name, count in simple if count]
        reasons += [f'taint "{taint}": {count}' for taint, count in self.taints.items()]
        reasons += [f'resource "{resource}": {count}' for resource, count in self.resources.items()]
        return f". Total nodes: {self.total}; excluded: {', '.join(sorted(reasons))}" if reasons else ""
