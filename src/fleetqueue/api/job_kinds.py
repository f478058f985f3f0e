"""The kinds of jobs that Kueue suspends, and that MultiKueue sends: where each says so, and who else may run it."""

from dataclasses import dataclass
from typing import ClassVar, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.fields import Field, dotted, value_at, with_value, without_field
from fleetqueue.api.jobset_v1alpha2 import JOBSET_CONTROLLER, JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource

KUBEFLOW: Final = "kubeflow.org"
RAY: Final = "ray.io"
TRAINER: Final = "trainer.kubeflow.org"


class PyTorchJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v1", "PyTorchJob", "pytorchjobs")


class TFJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v1", "TFJob", "tfjobs")


class XGBoostJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v1", "XGBoostJob", "xgboostjobs")


class PaddleJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v1", "PaddleJob", "paddlejobs")


class JAXJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v1", "JAXJob", "jaxjobs")


class MPIJob(Object):
    resource: ClassVar = Resource(KUBEFLOW, "v2beta1", "MPIJob", "mpijobs")


class RayCluster(Object):
    resource: ClassVar = Resource(RAY, "v1", "RayCluster", "rayclusters")


class RayJob(Object):
    resource: ClassVar = Resource(RAY, "v1", "RayJob", "rayjobs")


class RayService(Object):
    resource: ClassVar = Resource(RAY, "v1", "RayService", "rayservices")


class TrainJob(Object):
    resource: ClassVar = Resource(TRAINER, "v1alpha1", "TrainJob", "trainjobs")


class TrainingRuntime(Object):
    """What a TrainJob of its namespace is made of."""

    resource: ClassVar = Resource(TRAINER, "v1alpha1", "TrainingRuntime", "trainingruntimes")


class ClusterTrainingRuntime(Object):
    """What a TrainJob of any namespace is made of."""

    resource: ClassVar = Resource(
        TRAINER, "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False
    )


class SparkApplication(Object):
    resource: ClassVar = Resource("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")


class AppWrapper(Object):
    resource: ClassVar = Resource("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers")


@dataclass(frozen=True, slots=True)
class JobKind:
    framework: str
    """How Kueue's configuration calls it."""
    kind: type[Object]
    own_controller: str
    """What it says of who manages it where that is its own controller."""
    suspend: Field = ("spec", "suspend")
    managed_by: Field = ("spec", "managedBy")

    def is_suspended(self, job: Manifest) -> bool:
        return bool(value_at(job, self.suspend))

    def with_suspension(self, job: Manifest, *, suspend: bool) -> Manifest:
        return with_value(job, self.suspend, suspend)

    def manager_of(self, job: Manifest) -> str:
        """Return who manages a job; empty where it does not say."""
        return str(value_at(job, self.managed_by) or "")

    def is_for_own_controller(self, job: Manifest) -> bool:
        return self.manager_of(job) in ("", self.own_controller)

    def given_to_multikueue(self, job: Manifest) -> Manifest:
        """Return a job that MultiKueue manages, unless it says that somebody else than its own controller does."""
        if not self.is_for_own_controller(job):
            return job
        return with_value(job, self.managed_by, kueue.MULTIKUEUE_CONTROLLER)

    def without_manager(self, job: Manifest) -> Manifest:
        return without_field(job, self.managed_by)

    @property
    def managed_by_text(self) -> str:
        """The field in which it says who manages it, for people."""
        return dotted(self.managed_by)


@dataclass(frozen=True, slots=True)
class ReplicaJobKind(JobKind):
    """A kind of Kubeflow: replicas by role, and a policy of how they are run."""

    suspend: Field = ("spec", "runPolicy", "suspend")
    managed_by: Field = ("spec", "runPolicy", "managedBy")
    replicas: Field = ()
    """Where its replicas are, by role."""
    roles: tuple[str, ...] = ()
    """In the order of its pod sets."""


def _kubeflow(kind: type[Object], own_controller: str, replicas: str, *roles: str) -> ReplicaJobKind:
    framework = f"{KUBEFLOW}/{kind.__name__.lower()}"
    return ReplicaJobKind(framework, kind, own_controller, replicas=("spec", replicas), roles=roles)


TRAINING_OPERATOR: Final = "kubeflow.org/training-operator"
MPI_OPERATOR: Final = "kubeflow.org/mpi-operator"
KUBERAY_OPERATOR: Final = "ray.io/kuberay-operator"

BATCH_JOB: Final = JobKind("batch/job", Job, "kubernetes.io/job-controller")
JOB_SET: Final = JobKind("jobset.x-k8s.io/jobset", JobSet, JOBSET_CONTROLLER)
JAX_JOB: Final = _kubeflow(JAXJob, TRAINING_OPERATOR, "jaxReplicaSpecs", "Worker")
MPI_JOB: Final = _kubeflow(MPIJob, MPI_OPERATOR, "mpiReplicaSpecs", "Launcher", "Worker")
PADDLE_JOB: Final = _kubeflow(PaddleJob, TRAINING_OPERATOR, "paddleReplicaSpecs", "Master", "Worker")
PYTORCH_JOB: Final = _kubeflow(PyTorchJob, TRAINING_OPERATOR, "pytorchReplicaSpecs", "Master", "Worker")
TF_JOB: Final = _kubeflow(TFJob, TRAINING_OPERATOR, "tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator")
XGBOOST_JOB: Final = _kubeflow(XGBoostJob, TRAINING_OPERATOR, "xgbReplicaSpecs", "Master", "Worker")
RAY_CLUSTER: Final = JobKind("ray.io/raycluster", RayCluster, KUBERAY_OPERATOR)
RAY_JOB: Final = JobKind("ray.io/rayjob", RayJob, KUBERAY_OPERATOR)
RAY_SERVICE: Final = JobKind(
    "ray.io/rayservice", RayService, KUBERAY_OPERATOR, suspend=("spec", "rayClusterConfig", "suspend")
)
TRAIN_JOB: Final = JobKind("trainer.kubeflow.org/trainjob", TrainJob, "trainer.kubeflow.org/trainjob-controller")
SPARK_APPLICATION: Final = JobKind("sparkoperator.k8s.io/sparkapplication", SparkApplication, "")
"""It cannot say who manages it."""
APP_WRAPPER: Final = JobKind(
    "workload.codeflare.dev/appwrapper", AppWrapper, "workload.codeflare.dev/appwrapper-controller"
)
