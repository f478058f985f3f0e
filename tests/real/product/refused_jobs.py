"""Workers that admit a Workload and refuse its job, as a webhook of their own would."""

from fleetqueue.api.scheme import Resource

GROUP, VERSION = "admissionregistration.k8s.io", "v1"
POLICY = Resource(GROUP, VERSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
BINDING = Resource(GROUP, VERSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False)


async def refuse_jobs(env, worker):
    """Let a worker refuse every Job of the test's namespace, as a webhook of its own would."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": env.name}}
    policy = {
        "apiVersion": POLICY.api_version,
        "kind": POLICY.kind,
        "metadata": {"name": env.name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
            "validations": [{"expression": "false", "message": "no jobs here"}],
        },
    }
    binding = {
        "apiVersion": BINDING.api_version,
        "kind": BINDING.kind,
        "metadata": {"name": env.name},
        "spec": {"policyName": env.name, "validationActions": ["Deny"]},
    }
    await env.workers[worker].create(POLICY, policy)
    await env.workers[worker].create(BINDING, binding)


async def accept_jobs(env, worker):
    """Let a worker refuse them no more."""
    await env.workers[worker].delete(BINDING, env.name)
    await env.workers[worker].delete(POLICY, env.name)
