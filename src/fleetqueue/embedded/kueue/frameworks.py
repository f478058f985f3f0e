"""The kinds of jobs that Kueue knows by name, and kinds that somebody adds by theirs."""

from collections.abc import Collection, Mapping
from typing import Final

BATCH_JOB: Final = "batch/job"
FRAMEWORKS: Final[Mapping[str, str]] = {
    BATCH_JOB: "Job.v1.batch",
    "deployment": "Deployment.v1.apps",
    "jobset.x-k8s.io/jobset": "JobSet.v1alpha2.jobset.x-k8s.io",
    "kubeflow.org/jaxjob": "JAXJob.v1.kubeflow.org",
    "kubeflow.org/mpijob": "MPIJob.v2beta1.kubeflow.org",
    "kubeflow.org/paddlejob": "PaddleJob.v1.kubeflow.org",
    "kubeflow.org/pytorchjob": "PyTorchJob.v1.kubeflow.org",
    "kubeflow.org/tfjob": "TFJob.v1.kubeflow.org",
    "kubeflow.org/xgboostjob": "XGBoostJob.v1.kubeflow.org",
    "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet.v1.leaderworkerset.x-k8s.io",
    "pod": "Pod.v1.",
    "ray.io/raycluster": "RayCluster.v1.ray.io",
    "ray.io/rayjob": "RayJob.v1.ray.io",
    "ray.io/rayservice": "RayService.v1.ray.io",
    "sparkoperator.k8s.io/sparkapplication": "SparkApplication.v1beta2.sparkoperator.k8s.io",
    "statefulset": "StatefulSet.v1.apps",
    "trainer.kubeflow.org/trainjob": "TrainJob.v1alpha1.trainer.kubeflow.org",
    "workload.codeflare.dev/appwrapper": "AppWrapper.v1beta2.workload.codeflare.dev",
}
"""What Kueue knows by name, with the kind."""
NOT_SENT: Final = frozenset({"deployment", "sparkoperator.k8s.io/sparkapplication"})
"""Those that the real MultiKueue has no adapter for."""


def is_kind(text: str) -> bool:
    """Tell whether a text names a kind, as `Kind.version.group`."""
    return text.count(".") >= 2


def sent_kinds(frameworks: Collection[str]) -> set[str]:
    """Return the kinds that MultiKueue sends by itself where these frameworks are managed."""
    return {kind for name, kind in FRAMEWORKS.items() if name in frameworks and name not in NOT_SENT}
