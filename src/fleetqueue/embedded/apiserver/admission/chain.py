"""The chain of links through which every write goes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.auth.users import User

Operation = Literal["CREATE", "UPDATE", "DELETE"]


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One write, as the links see it. They may add warnings for the client."""

    operation: Operation
    resource: Resource
    user: User
    new: Manifest | None
    """None when an object is deleted."""
    old: Manifest | None
    """None when an object is created."""
    subresource: str = ""
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)
    path_name: str = ""
    """The name that the request's path has; none where an object is created in its collection."""

    @property
    def metadata(self) -> Manifest:
        obj = self.new if self.new is not None else self.old
        assert obj is not None
        metadata: Manifest = obj["metadata"]
        return metadata

    def forbidden(self, why: str, *causes: Manifest) -> errors.Forbidden:
        """Build the answer of a link that does not let the write through."""
        name = self.metadata.get("name", "")
        details = {"name": name, "group": self.resource.group, "kind": self.resource.plural, "causes": list(causes)}
        message = f'{self.resource} "{name}" is forbidden: {why}'
        return errors.Forbidden(message, reason="Forbidden", details={k: v for k, v in details.items() if v})


class Link(Protocol):
    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        """Return the object as it goes on, changed or not; raise what is to be answered instead."""
        ...


class Chain:
    def __init__(self, *links: Link) -> None:
        self.links: Sequence[Link] = links

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        for link in self.links:
            new = await link.admit(review)
            if new is not review.new:
                review = replace(review, new=new)
        return review.new
