"""Whom the certificates of agents are for."""

from fleetqueue.client.certificates import CertificateSubject, content_of
from fleetqueue.embedded.ocm.registration.names import AGENT_PREFIX, agent_groups, agent_user


def agent_subject(cluster: str, agent: str) -> CertificateSubject:
    return CertificateSubject(agent_user(cluster, agent), agent_groups(cluster))


def agent_of(certificate: bytes) -> tuple[str, str] | None:
    """Return the cluster and the agent that a certificate names; None where it names none."""
    content = content_of(certificate)
    return named_agent(content.subject) if content is not None else None


def named_agent(subject: CertificateSubject) -> tuple[str, str] | None:
    """Return the cluster and the agent that a user is; None where it is none."""
    cluster, _, agent = subject.name.removeprefix(AGENT_PREFIX).partition(":")
    is_agent = subject.name.startswith(AGENT_PREFIX) and cluster and agent and ":" not in agent
    return (cluster, agent) if is_agent else None
