"""What a RayService needs next, and what it says of itself."""

from fleetqueue.api.job_kinds import RayService
from fleetqueue.embedded.operators.ray_service_plan import plan

from .objects import as_there, made, names, ray_cluster_spec, seen, told


def service(status=None, *, config=None, **spec):
    return made(RayService, {"rayClusterConfig": config or ray_cluster_spec(2), **spec}, status=status)


def ready_cluster(cluster, *, ready="True", workers=2):
    conditions = [{"type": "HeadPodReady", "status": ready}]
    return {**as_there(cluster), "status": {"conditions": conditions, "readyWorkerReplicas": workers}}


def chosen():
    """The status of a service that has chosen the name of its cluster, and the cluster that it makes then."""
    status = plan(seen(service())).status
    return status, plan(seen(service(status))).create[0]


def test_a_new_service_chooses_the_name_of_its_cluster_before_it_makes_it():
    result = plan(seen(service()))

    assert result.create == []
    assert result.status["pendingServiceStatus"] == {"rayClusterName": "j-drawn1"}
    assert told(result.status) == {"Ready": "False Initializing", "UpgradeInProgress": "False Initializing"}


def test_its_cluster_is_known_as_its_own():
    _, cluster = chosen()

    assert (cluster["kind"], cluster["metadata"]["name"]) == ("RayCluster", "j-drawn1")
    assert cluster["metadata"]["labels"] == {
        "ray.io/originated-from-cr-name": "j",
        "ray.io/originated-from-crd": "RayService",
    }
    assert cluster["spec"] == ray_cluster_spec(2)


def test_when_the_head_is_ready_it_serves():
    status, cluster = chosen()

    result = plan(seen(service(status), ready_cluster(cluster)))

    assert names(result.create, "Service") == ["j-head-svc", "j-serve-svc"]
    assert result.status["activeServiceStatus"]["rayClusterName"] == "j-drawn1"
    assert result.status["pendingServiceStatus"] == {}
    assert (result.status["numServeEndpoints"], result.status["serviceStatus"]) == (3, "Running")
    assert told(result.status) == {
        "Ready": "True NonZeroServeEndpoints",
        "UpgradeInProgress": "False NoPendingCluster",
    }


def test_a_head_may_serve_nothing():
    status, cluster = chosen()

    result = plan(seen(service(status, excludeHeadPodFromServeSvc=True), ready_cluster(cluster)))

    assert result.status["numServeEndpoints"] == 2


def test_what_is_not_ready_does_not_serve():
    status, cluster = chosen()
    serving = plan(seen(service(status), ready_cluster(cluster))).status

    before = plan(seen(service(status), ready_cluster(cluster, ready="False", workers=0)))
    after = plan(seen(service(serving), ready_cluster(cluster, ready="False", workers=0)))

    assert told(before.status)["Ready"] == "False Initializing"
    assert told(after.status)["Ready"] == "False ZeroServeEndpoints"
    assert "serviceStatus" not in after.status
    assert after.status["activeServiceStatus"]["rayClusterName"] == "j-drawn1"


def test_a_change_reaches_the_cluster():
    status, cluster = chosen()
    config = ray_cluster_spec(2, suspend=True)

    result = plan(seen(service(status, config=config), ready_cluster(cluster)))

    ((changed, (patch,)),) = result.change
    assert changed["metadata"]["name"] == "j-drawn1"
    assert patch.fields == {"spec": {"suspend": True}}


def test_the_size_that_ray_gives_to_its_cluster_stays():
    config = ray_cluster_spec(1, enableInTreeAutoscaling=True)
    status, cluster = chosen()
    scaled = {**cluster, "spec": ray_cluster_spec(3, enableInTreeAutoscaling=True)}

    result = plan(seen(service(status, config=config), ready_cluster(scaled)))

    assert result.change == []


def test_what_was_decided_is_not_decided_again():
    status, cluster = chosen()
    first = plan(seen(service(status), ready_cluster(cluster)))
    services = [as_there(one) for one in first.create]

    second = plan(seen(service(first.status), ready_cluster(cluster), *services))

    assert (second.create, second.change, second.says) == ([], [], [])
    assert second.status == first.status
