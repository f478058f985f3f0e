"""How a kind differs from the others: upstream's RESTStrategy. Its functions never change what they are given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause
from fleetqueue.embedded.apiserver.kinds.names import NameRule, subdomain

UNKNOWN_FIELD: Final = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
UNSUPPORTED_FIELD: Final = "field label not supported: {}"

Validate = Callable[[Manifest, Manifest | None], Sequence[Cause]]
"""From the new object and the old one (None on create) to what is wrong with the new one."""


def _read_as_it_is(obj: Manifest, known: Manifest | None) -> tuple[Manifest, Sequence[str]]:
    return obj, ()


def _as_it_is(obj: Manifest) -> Manifest:
    return obj


def _no_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return ()


@dataclass(frozen=True, slots=True)
class Generation:
    """Which changes make the next generation of an object."""

    counts_spec: bool = True
    """Whether a change of anything but metadata and status does."""
    metadata: Sequence[str] = ()
    """The fields of the metadata whose changes do: labels, annotations."""


@dataclass(frozen=True, slots=True)
class RestUpdateStrategy:
    is_unconditional: bool = True
    """Whether an update without a resourceVersion overwrites."""
    creates: bool = False
    """Whether an update creates an object that is not there."""


@dataclass(frozen=True, slots=True)
class StatusStrategy:
    faults: Validate | None = None
    """The rules for a write to the status, where they are others than those for the object."""
    initial: Manifest | None = None
    """The status that an object begins with; None where it begins without one."""
    is_created: bool = False
    """Whether a create may set the status."""
    keeps_metadata: bool = False
    """Whether a write to the status leaves the metadata alone, as for custom kinds."""
    keeps_labels: bool = False


@dataclass(frozen=True, slots=True)
class SubresourceStrategy:
    """How a subresource is written that is a part of the stored object."""

    keep: Callable[[Manifest, Manifest], Manifest]
    """From the object that was sent and the stored one to the one that a write through this endpoint makes."""
    faults: Validate = _no_faults
    counts_spec: bool = True
    """Whether another spec is another generation."""


@dataclass(frozen=True, slots=True)
class DeletionStrategy:
    grace: Callable[[Manifest, int | None], int] | None = None
    """Returns the seconds until a deleted object may go; None where it may at once."""
    prepare: Callable[[Manifest], Manifest] | None = None
    """Changes an object at its first deletion request."""
    is_held: Callable[[Manifest], bool] | None = None
    """Tells whether a deleted object stays for another reason than its finalizers."""
    orphans_by_default: bool = False
    warning: str = ""
    """The warning for a deletion that does not say what becomes of dependents."""
    returns_object: bool = False
    """Whether the response is the object even when it is gone at once."""


@dataclass(frozen=True, slots=True)
class SelectableFields:
    """What field selectors can name, beside name and namespace."""

    readers: Mapping[str, Callable[[Manifest], str]] = field(default_factory=dict)
    refusal: str = UNKNOWN_FIELD
    """How a selector by another field is refused."""


@dataclass(frozen=True, slots=True)
class Strategy:
    name_rule: NameRule = subdomain
    qualifies_finalizers: bool = False
    """Whether a finalizer must have a domain, or be one that Kubernetes itself uses."""
    read: Callable[[Manifest, Manifest | None], tuple[Manifest, Sequence[str]]] = _read_as_it_is
    """Makes an object of this kind from a body, and says which of its fields are not known; raises Unreadable.
    What is the very same in the stored object needs no second look."""
    default: Callable[[Manifest], Manifest] = _as_it_is
    """Fills in what may be left out, after `read`."""
    prepare: Callable[[Manifest, Manifest | None, User], Manifest] | None = None
    """Sets what clients may not: on create (old is None), and on update of the main resource."""
    faults: Validate = _no_faults
    warnings: Callable[[Manifest, Manifest | None], Sequence[str]] | None = None
    """What is allowed but dubious in an object that is created or updated."""
    generation: Generation | None = Generation()
    """None where objects have no generation."""
    update: RestUpdateStrategy = RestUpdateStrategy()
    status: StatusStrategy = StatusStrategy()
    subresources: Mapping[str, SubresourceStrategy] = field(default_factory=dict)
    """Those that are a part of the stored object, beside the usual status."""
    deletion: DeletionStrategy = DeletionStrategy()
    selectable: SelectableFields = SelectableFields()


DEFAULT_STRATEGY: Final = Strategy()
