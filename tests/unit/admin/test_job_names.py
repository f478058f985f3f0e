"""What people may write for a job."""

import pytest

from fleetqueue.admin.job_names import is_called


@pytest.mark.parametrize(
    ("job", "name", "is_meant"),
    [
        pytest.param("Job/train", "", True, id="every job"),
        pytest.param("Job/train", "train", True, id="its name"),
        pytest.param("Job/train", "other", False, id="another name"),
        pytest.param("Job/train", "Job/train", True, id="its kind, as listings write it"),
        pytest.param("Job/train", "job/train", True, id="its kind in small letters"),
        pytest.param("Job/train", "jobs/train", True, id="its kind in the plural"),
        pytest.param("Job/train", "job.batch/train", True, id="its kind and group, as kubectl writes them"),
        pytest.param("Job/train", "jobs.v1.batch/train", True, id="its kind, version and group"),
        pytest.param("Job/train", "job.batch/other", False, id="its kind and group, and another name"),
        pytest.param("Job/train", "job.batch.volcano.sh/train", False, id="a kind of this name in another group"),
        pytest.param("Job/train", "jobset.jobset.x-k8s.io/train", False, id="another kind"),
        pytest.param("Job/train", "/train", False, id="no kind"),
        pytest.param("JobSet/train", "jobset.jobset.x-k8s.io/train", True, id="a kind of others with its group"),
        pytest.param("PyTorchJob/train", "pytorchjob.kubeflow.org/train", True, id="a kind in camel case"),
        pytest.param("Deployment/web", "deployment.apps/web", True, id="a Deployment"),
        pytest.param("Deployment/web", "deploy/web", True, id="a Deployment, short"),
        pytest.param("Pod/p", "pod/p", True, id="a kind of the core group"),
        pytest.param("Pod/p", "pods/p", True, id="a kind of the core group in the plural"),
        pytest.param("Pod/p", "pod.example.com/p", False, id="a kind of others with a name of the core group"),
        pytest.param(
            "MyJob/train", "myjob.example.com/train", True, id="a kind that Kueue does not know, in any group"
        ),
    ],
)
def test_a_job_is_meant_by_its_name_with_its_kind_or_without(job, name, is_meant):
    assert is_called(job, name) is is_meant
