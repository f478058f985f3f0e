"""Which upstream programs the real engine is made of, pinned to exact versions.

Everything is an ordinary Go module, verified by the Go checksum database. Changing a version here changes the name of
the cache folder, so an old engine is never mixed with a new one.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

KUBERNETES_VERSION: Final = "1.36.3"
KUEUE_VERSION: Final = "0.19.2"
OCM_VERSION: Final = "1.2.1"


@dataclass(frozen=True, slots=True)
class Binary:
    """One program: the name that we give it and the Go package that it is built from."""

    name: str
    package: str
    seconds: int
    """Build time from a cold cache on two cores; only used to say how long a build takes."""


@dataclass(frozen=True, slots=True)
class Project:
    """One upstream Go module; each is built in a small module of its own, because their dependencies differ."""

    name: str
    module: str
    version: str
    binaries: tuple[Binary, ...]
    version_flags: tuple[str, ...] = ()
    """Linker flags without which the program calls itself v0.0.0."""

    staging: str = ""
    """Version of the k8s.io modules that this module replaces by folders of its own repository."""

    @property
    def query(self) -> str:
        """The module as the go command wants it named."""
        return f"{self.module}@{self.version}"


@dataclass(frozen=True, slots=True)
class CrdSource:
    """A Go module whose folders carry CRDs that a cluster needs at run time."""

    module: str
    version: str
    files: tuple[str, ...]
    """Globs inside the module."""

    @property
    def query(self) -> str:
        """The module as the go command wants it named."""
        return f"{self.module}@{self.version}"


@dataclass(frozen=True, slots=True)
class JobCrds:
    """A Go module whose folders carry the CRDs of job kinds; Kueue requires it, and so names its version."""

    module: str
    files: tuple[str, ...]
    """Globs inside the module."""


def kubernetes(version: str) -> Project:
    """Kubernetes in one version, such as 1.36.3."""
    return Project(
        name="kubernetes",
        module="k8s.io/kubernetes",
        version=f"v{version}",
        binaries=(
            Binary("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", 195),
            Binary("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", 46),
            Binary("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", 10),
            Binary("kubectl", "k8s.io/kubernetes/cmd/kubectl", 15),
        ),
        version_flags=(
            f"-X k8s.io/component-base/version.gitVersion=v{version}",
            "-X k8s.io/component-base/version.gitMajor=1",
            f"-X k8s.io/component-base/version.gitMinor={version.split('.')[1]}",
        ),
        staging="v0." + version.removeprefix("1."),
    )


KUBERNETES = kubernetes(KUBERNETES_VERSION)

ETCD = Project(
    name="etcd",
    module="go.etcd.io/etcd/server/v3",
    version="v3.6.5",
    binaries=(Binary("etcd", "go.etcd.io/etcd/server/v3", 42),),
)

KWOK = Project(
    name="kwok",
    module="sigs.k8s.io/kwok",
    version="v0.7.0",
    binaries=(Binary("kwok", "sigs.k8s.io/kwok/cmd/kwok", 100),),
)

KUEUE = Project(
    name="kueue",
    module="sigs.k8s.io/kueue",
    version=f"v{KUEUE_VERSION}",
    binaries=(Binary("kueue", "sigs.k8s.io/kueue/cmd/kueue", 300),),
    version_flags=(f"-X sigs.k8s.io/kueue/pkg/version.GitVersion=v{KUEUE_VERSION}",),
)

OCM = Project(
    name="ocm",
    module="open-cluster-management.io/ocm",
    version=f"v{OCM_VERSION}",
    binaries=(
        Binary("registration", "open-cluster-management.io/ocm/cmd/registration", 110),
        Binary("placement", "open-cluster-management.io/ocm/cmd/placement", 10),
        Binary("work", "open-cluster-management.io/ocm/cmd/work", 20),
        Binary("addon", "open-cluster-management.io/ocm/cmd/addon", 20),
    ),
)

PROJECTS: Final = (KUBERNETES, ETCD, KWOK, KUEUE, OCM)

OCM_CRDS: Final = (
    # Only the v1alpha1 folder of addon: the v1beta1 one needs a conversion webhook that OCM 1.2.1 does not use.
    CrdSource(
        "open-cluster-management.io/api",
        "v1.2.0",
        ("cluster/*/*.crd.yaml", "work/*/*.crd.yaml", "addon/v1alpha1/*.crd.yaml"),
    ),
    CrdSource("sigs.k8s.io/cluster-inventory-api", "v0.1.3", ("config/crd/bases/*clusterprofiles.yaml",)),
)

JOB_CRDS: Final = (
    JobCrds("sigs.k8s.io/jobset", ("config/components/crd/bases/*jobsets.yaml",)),
    JobCrds("sigs.k8s.io/lws", ("config/crd/bases/*leaderworkersets.yaml",)),
    JobCrds(
        "github.com/ray-project/kuberay/ray-operator",
        tuple(f"config/crd/bases/ray.io_{kind}s.yaml" for kind in ("raycluster", "rayjob", "rayservice")),
    ),
    JobCrds("github.com/kubeflow/mpi-operator", ("manifests/base/kubeflow.org_mpijobs.yaml",)),
    JobCrds("github.com/kubeflow/trainer/v2", ("manifests/base/crds/trainer.*.yaml",)),
    # Not its MPIJob: an older version of the one above.
    JobCrds(
        "github.com/kubeflow/training-operator",
        tuple(
            f"manifests/base/crds/kubeflow.org_{kind}jobs.yaml"
            for kind in ("jax", "paddle", "pytorch", "tf", "xgboost")
        ),
    ),
    JobCrds("github.com/project-codeflare/appwrapper", ("config/crd/bases/*appwrappers.yaml",)),
)


def binaries() -> tuple[Binary, ...]:
    """Every program of the engine."""
    return tuple(binary for project in PROJECTS for binary in project.binaries)


def key() -> str:
    """Name the pinned set: readable versions first, then a digest of all that goes into the programs."""
    digest = hashlib.sha256(repr((PROJECTS, OCM_CRDS)).encode()).hexdigest()[:8]
    return f"k8s-{KUBERNETES_VERSION}-kueue-{KUEUE_VERSION}-ocm-{OCM_VERSION}-{digest}"


def job_crds_key() -> str:
    """Name the choice of job kinds apart: who adds one builds no program anew."""
    return hashlib.sha256(repr(JOB_CRDS).encode()).hexdigest()[:8]
