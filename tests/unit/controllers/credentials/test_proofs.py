"""Proof of a credential, where there is nobody to give it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.proofs import Proofs
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import Rights


def refused(connection: Connection) -> Client:
    raise errors.Unreachable(f"{connection.server}: certificate signed by unknown authority")


async def test_a_worker_that_cannot_even_be_called_is_a_problem_to_tell_of() -> None:
    proofs = Proofs(refused, CredentialsSettings())
    kubeconfig = render("c1", server="https://c1", ca="another's CA", token="token", user="kueue")

    with pytest.raises(CredentialProblem, match="cannot be reached: https://c1: certificate signed by unknown auth"):
        await proofs.refusal("c1", kubeconfig, Rights((), {}))
