"""The owners of an object: each stands there once."""

from typing import Final

from fleetqueue.api.scheme import Manifest

TOLD: Final = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may"
    " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def with_owners(obj: Manifest, warnings: list[str], *, is_patched: bool) -> Manifest:
    """Return the object with each of its owners once; warns of those that stand there again."""
    owners = obj["metadata"].get("ownerReferences") if "metadata" in obj else None
    if not owners or len(owners) < 2:
        return obj
    unique: list[Manifest] = []
    repeated: list[str] = []
    for owner in owners:
        if owner in unique:
            repeated.append(str(owner.get("uid")))
        else:
            unique.append(owner)
    if not repeated:
        return obj
    # A real server looks at patches later than at whole objects, and says so.
    when = " after mutating admission happens" if is_patched else ""
    warnings.append(TOLD.format(when, ", ".join(repeated)))
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": unique}}
