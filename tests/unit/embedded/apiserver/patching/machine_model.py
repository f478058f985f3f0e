"""Who owns the entries of a flat map, in a few lines: a model of labels that knows nothing of schemas or paths."""

from dataclasses import dataclass, field

Owner = tuple[str, str]
"""A manager and its operation, Apply or Update: the same name twice is two owners."""


@dataclass
class FlatMap:
    values: dict[str, str] = field(default_factory=dict)
    owners: dict[str, set[Owner]] = field(default_factory=dict)

    def update(self, manager: str, new: dict[str, str]) -> None:
        """Who changes a value owns it alone; who leaves it as it is owns nothing new."""
        for key, value in new.items():
            if self.values.get(key) != value:
                self.owners[key] = {(manager, "Update")}
        self.owners = {key: owners for key, owners in self.owners.items() if key in new}
        self.values = dict(new)

    def conflicts(self, manager: str, applied: dict[str, str]) -> bool:
        """Tell whether somebody else owns what would be changed."""
        me = (manager, "Apply")
        changed = [key for key, value in applied.items() if key in self.values and self.values[key] != value]
        return any(self.owners.get(key, set()) - {me} for key in changed)

    def apply(self, manager: str, applied: dict[str, str]) -> None:
        """Who applies owns what it names, with others where they agree; what nobody names any more goes."""
        me = (manager, "Apply")
        for key in [key for key in self.values if key not in applied]:
            left = self.owners.get(key, set()) - {me}
            if not left and self.owners.get(key):
                del self.values[key], self.owners[key]
            else:
                self.owners[key] = left
        for key, value in applied.items():
            agree = self.values.get(key) == value
            self.owners[key] = {me} | (self.owners.get(key, set()) if agree else set())
            self.values[key] = value
