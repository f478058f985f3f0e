"""Rules of how MultiKueue reaches clusters, and of what MultiKueueClusters and AdmissionChecks say of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import TRUE, Condition
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.multikueue import (
    admission_checks,
    cluster_sources,
    clusters,
    kubeconfig_rules,
    messages,
    remote,
)
from fleetqueue.embedded.multikueue.cluster_sources import BadSource, ClusterSources
from fleetqueue.embedded.multikueue.clusters import ClusterController
from fleetqueue.embedded.multikueue.remote import RemoteClient

from .mutation import Mutation, always

active = admission_checks.active
access = cluster_sources.access
problems = kubeconfig_rules.problems
Reached = Mapping[str, bool]
"""All clusters that there are, and whether each is connected."""


def without_problem(rule: str, begins: str, scenario: str) -> Mutation:
    """Let a kubeconfig break one of the rules for them."""

    def others(config: Mapping[str, Any]) -> Iterable[str]:
        return (problem for problem in problems(config) if not problem.startswith(begins))

    return Mutation(rule, kubeconfig_rules, "problems", others, (scenario,))


async def empty_kubeconfig(self: ClusterSources, source: kueue.KubeConfigSource) -> str:
    return ""


async def say_if_connected(self: ClusterController, cluster: kueue.MultiKueueCluster, remote: RemoteClient) -> None:
    if remote.is_connected:
        await self._say(cluster, TRUE, *messages.CONNECTED)


async def say_if_not_connected(self: ClusterController, cluster: kueue.MultiKueueCluster, remote: RemoteClient) -> None:
    if remote.problem:
        await self._say(cluster, "False", *messages.connection_failed(remote.problem))


def found_without_gate(self: ClusterSources, name: str) -> Connection:
    raise BadSource("BadClusterProfile", f'ClusterProfile "{name}" not found')


def access_without_profile(self: ClusterSources, name: str) -> Connection:
    return access(ClusterProfile(), self.settings.access_providers)


def access_by_any(profile: ClusterProfile, providers: Sequence[Manifest]) -> Connection:
    return access(profile, [{**providers[0], "name": each["name"]} for each in profile.status.access_providers])


def active_without_config(
    check: kueue.AdmissionCheck, config: kueue.MultiKueueConfig | None, reached: Reached
) -> Condition:
    return active(check, config or kueue.MultiKueueConfig(), reached)


def active_with_all(check: kueue.AdmissionCheck, config: kueue.MultiKueueConfig | None, reached: Reached) -> Condition:
    found = active(check, config, reached)
    is_partly = found.reason == "SomeActiveClusters"
    return Condition.false(kueue.ACTIVE, "NoUsableClusters", found.message) if is_partly else found


def active_with_missing(
    check: kueue.AdmissionCheck, config: kueue.MultiKueueConfig | None, reached: Reached
) -> Condition:
    listed = config.spec.clusters if config is not None else ()
    return active(check, config, {**dict.fromkeys(listed, True), **reached})


MUTATIONS = (
    Mutation(
        "a cluster that is reached says so",
        ClusterController,
        "_say_how",
        say_if_not_connected,
        ("the manual set-up with one worker", "two workers"),
    ),
    Mutation(
        "a cluster that cannot be reached says so",
        ClusterController,
        "_say_how",
        say_if_connected,
        (
            "nobody listens",
            "a token that is not known",
            "a profile that does not say which secret",
            "a profile whose secret is missing",
        ),
    ),
    Mutation(
        "a kubeconfig that is not there is not an empty one",
        ClusterSources,
        "_kubeconfig",
        empty_kubeconfig,
        ("a secret is missing", "a secret without a kubeconfig", "a file that is not there"),
    ),
    Mutation(
        "what a cluster is reached by is looked at when it changes",
        clusters,
        "_source",
        always(()),
        (
            "a secret that comes later",
            "a secret that becomes good",
            "a secret that is deleted",
            "a profile that comes later",
            "a profile that gets its provider later",
            "a profile that is deleted while a job runs",
        ),
    ),
    without_problem("no token is read from a file", "tokenFile", "a token file"),
    without_problem("every server shows a certificate", "insecure TLS", "a server that nobody checks"),
    without_problem("no authority is read from a file", "certificate-authority", "an authority in a file"),
    without_problem("a kubeconfig names a server", "server URL", "a kubeconfig without a server"),
    without_problem("no password is taken", "basic auth", "a password"),
    without_problem("a kubeconfig runs no program", "exec plugins", "a program for the credential"),
    without_problem(
        "a kubeconfig has the context that it names", kubeconfig_rules.NO_CONTEXT[:30], "a context that is not there"
    ),
    without_problem("an empty kubeconfig is none", kubeconfig_rules.EMPTY, "an empty kubeconfig"),
    Mutation(
        "the address of a server is that of a host",
        kubeconfig_rules,
        "is_host",
        always(True),
        ("a server that is no host", "a profile whose server is no host"),
    ),
    Mutation(
        "a check is active while one of its clusters is",
        admission_checks,
        "active",
        active_with_all,
        ("one of two is missing", "one of two cannot be reached"),
    ),
    Mutation(
        "a check says which clusters are not there",
        admission_checks,
        "active",
        active_with_missing,
        ("one is missing and one cannot be reached", "a cluster that is deleted"),
    ),
    Mutation(
        "without its config a check is of no use",
        admission_checks,
        "active",
        active_without_config,
        ("there is no config",),
    ),
    Mutation(
        "a check names a MultiKueueConfig",
        admission_checks,
        "_fault",
        always(None),
        ("a check without parameters", "a check whose parameters are of another *"),
    ),
    Mutation(
        "the clusters of a config are looked at when it changes",
        admission_checks.AdmissionCheckController,
        "_using",
        lambda self, configs: (),
        ("a config that lists fewer",),
    ),
    Mutation(
        "a profile is looked for where the gate is on",
        ClusterSources,
        "_by_profile",
        found_without_gate,
        ("a profile while the gate is off",),
    ),
    Mutation(
        "a profile that is not there is not one that says nothing",
        ClusterSources,
        "_by_profile",
        access_without_profile,
        ("a profile that is not there",),
    ),
    Mutation(
        "only a provider that Kueue is configured for gives access",
        cluster_sources,
        "access",
        access_by_any,
        ("a profile that says of no way", "a profile whose provider Kueue is not configured for"),
    ),
    Mutation(
        "the program of a provider gives the credential",
        cluster_sources,
        "_plugin",
        always(None),
        ("a job goes to a cluster by its profile",),
    ),
    Mutation(
        "a cluster that could not be reached is tried again",
        remote,
        "retry_after",
        always(86400.0),
        ("a profile whose token becomes good",),
    ),
)
