"""Objects of registration, as tests speak of them."""

from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.client.certificates import new_request
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import START


def cluster_manifest(name="c", *, labels=None, conditions=(), finalizers=(), annotations=None, **spec):
    """Build a cluster; of conditions, their types (True) or pairs of type and status."""
    said = [condition(*(each if isinstance(each, tuple) else (each,))) for each in conditions]
    status = {"status": {"conditions": said}} if said else {}
    made = cluster.ManagedCluster.manifest(name, labels=labels, annotations=annotations, spec=spec, **status)
    if finalizers:
        made["metadata"]["finalizers"] = list(finalizers)
    return made


def cluster_view(name="c", **parts):
    return cluster.ManagedCluster.view(cluster_manifest(name, **parts))


def set_manifest(name="s", **spec):
    return cluster.ManagedClusterSet.manifest(name, spec=spec)


def by_labels(**labels):
    return {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": labels}}}


def member(name="c", of="s", **parts):
    return cluster_manifest(name, labels={cluster.CLUSTER_SET_LABEL: of}, **parts)


def signed(subject, seconds=1000):
    """Make a certificate that begins when the test's time does."""
    private, asked_for = new_request(subject)
    key = serialization.load_pem_private_key(private, password=None)
    name = x509.load_pem_x509_csr(asked_for).subject
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(START).not_valid_after(START + timedelta(seconds=seconds))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
