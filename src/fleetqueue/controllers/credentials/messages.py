"""What people read about credentials: pairs of reason and sentence, for Events on the ManagedCluster."""

from collections.abc import Sequence

from fleetqueue.api.conditions import timestamp
from fleetqueue.controllers.credentials.secret_content import Issued

Said = tuple[str, str]


def issued(secret: str, credential: Issued, why: str) -> Said:
    return "CredentialsIssued", f"Secret {secret} lets Kueue in until {timestamp(credential.expires)}: {why}"


def renewed(secret: str, credential: Issued, because: str) -> Said:
    """Tell of another credential; `because` is empty where the time of the one before was about to end."""
    how = f", because {because}," if because else " in time"
    return "CredentialsRenewed", f"Secret {secret} was renewed{how} and holds until {timestamp(credential.expires)}"


def because_refused(why: str) -> str:
    return f"the one before was refused ({why})"


def repaired(secret: str, credential: Issued) -> Said:
    return (
        "CredentialsRepaired",
        f"Secret {secret} had been changed by somebody else; it is as it shall be and holds until "
        f"{timestamp(credential.expires)}",
    )


def removed(secret: str) -> Said:
    return (
        "CredentialsRemoved",
        f"Secret {secret} is removed, and so is the account behind it, unless another name of the worker uses that:"
        " nothing uses them any more",
    )


def kept(secret: str, why: str) -> Said:
    return (
        "CredentialsKept",
        f"Secret {secret} and the account behind it stay until what uses them has ended, although the cluster is"
        f" leaving: {why}",
    )


def same_origin(origin: str, hubs: Sequence[str]) -> Said:
    return (
        "OriginShared",
        f'another hub ({", ".join(hubs)}) sends jobs here with the same multiKueue.origin "{origin}": each hub\'s Kueue'
        " deletes the copies of the other; give each its own in Kueue's configuration",
    )


def failed(secret: str, current: Issued | None, error: Exception, *, refused: bool) -> Said:
    """Tell of a credential that cannot be had; `refused`: the worker does not accept the present one."""
    still = f"the present one holds until {timestamp(current.expires)}" if current else "there is none until then"
    still = "the worker refuses the present one" if refused else still
    return "CredentialsFailed", f"Secret {secret} could not be written and will be tried again; {still}: {error}"


def missing_kinds(unserved: Sequence[str], unknown: Sequence[str]) -> str:
    """Say which kinds Kueue will watch in vain; empty where there is none."""
    parts = [f"the worker does not serve {', '.join(unserved)}"] if unserved else []
    parts += [f"there are no rights for {', '.join(unknown)}, which nothing here knows"] if unknown else []
    return "; ".join(parts)


def refused(missing: str, config_map: str) -> Said:
    return "KindsMissing", (
        f"Kueue refuses the whole worker while a kind of its configuration is missing there: {missing}; install the"
        f" CRDs on the worker, or take the kinds off ConfigMap {config_map} and restart Kueue"
    )


def served() -> Said:
    return "KindsServed", "The worker serves all kinds of jobs of Kueue's configuration"


def withdrawn(secret: str, error: Exception) -> Said:
    return "CredentialsWithdrawn", f"Secret {secret} is removed until it can be written anew: {error}"
