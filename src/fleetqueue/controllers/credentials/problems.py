"""Why there is no credential for a cluster, in words that tell what to do."""


class CredentialProblem(Exception):
    """A credential cannot be had now; what is already written stays."""


class CredentialPending(CredentialProblem):
    """Somebody is at work on it; there is no need to tell anybody, or to ask elsewhere."""


class CredentialWithdrawn(CredentialProblem):
    """What the credential was made from is gone, so it must go as well."""
