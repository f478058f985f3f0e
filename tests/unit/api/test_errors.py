"""Every answer that is no object becomes the error that controllers catch."""

import pytest

from fleetqueue.api import errors
from fleetqueue.runtime.workqueue import LAST_RETRY


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (409, "", errors.Conflict),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (405, "MethodNotAllowed", errors.ApiError),
        (415, "UnsupportedMediaType", errors.ApiError),
    ],
)
def test_from_status(code, reason, kind):
    error = errors.from_status(code, {"kind": "Status", "message": "no", "reason": reason, "code": code})

    assert type(error) is kind
    assert (str(error), error.code, error.reason) == ("no", code, reason)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("  <html>bad gateway</html>\n", "<html>bad gateway</html>", id="a proxy's page is quoted"),
        pytest.param("x" * 5000, "x" * 2000, id="a long page is cut"),
        pytest.param("", "HTTP 502", id="nothing was said"),
        pytest.param(None, "HTTP 502", id="no body at all"),
        pytest.param([1, 2], "HTTP 502", id="JSON that is no object"),
        pytest.param({"message": None, "details": None, "reason": None}, "HTTP 502", id="nulls in a Status"),
    ],
)
def test_an_answer_that_is_no_status_still_says_something(body, message):
    error = errors.from_status(502, body)

    assert type(error) is errors.ServerError
    assert error.message == message


def test_a_busy_server_says_how_long_to_wait():
    error = errors.from_status(429, {"message": "busy", "details": {"retryAfterSeconds": 7}})

    assert error.retry_after == 7.0


@pytest.mark.parametrize("asked", [61, 86400, 1e300])
def test_no_server_makes_us_wait_for_longer_than_we_would_ourselves(asked):
    error = errors.from_status(503, {"message": "busy", "details": {"retryAfterSeconds": asked}})

    assert error.retry_after == errors.LONGEST_WAIT == LAST_RETRY


@pytest.mark.parametrize(
    "asked",
    [
        "soon",
        "",
        -1,
        pytest.param(10**400, id="huge"),
        pytest.param("9" * 400, id="long"),
        float("nan"),
        float("inf"),
        [7],
        {"seconds": 7},
    ],
)
def test_what_is_no_time_is_no_wish(asked):
    error = errors.from_status(429, {"message": "busy", "details": {"retryAfterSeconds": asked}})

    assert error.retry_after is None


@pytest.mark.parametrize("details", [{}, {"retryAfterSeconds": 0}, "odd"])
def test_without_a_wish_there_is_no_time_to_wait(details):
    assert errors.from_status(429, {"message": "busy", "details": details}).retry_after is None


def test_causes_of_an_invalid_object_are_kept():
    causes = [{"field": "spec.clusters", "message": "too many"}]

    error = errors.from_status(422, {"message": "no", "reason": "Invalid", "details": {"causes": causes}})

    assert error.details["causes"] == causes


@pytest.mark.parametrize("causes", ["odd", 1, ["odd"], [None], {"field": "metadata.uid"}])
def test_causes_that_are_none_are_not_looked_at(causes):
    assert type(errors.from_status(422, {"reason": "Invalid", "details": {"causes": causes}})) is errors.Invalid


def test_a_patch_for_another_object_of_the_name_is_a_conflict():
    causes = [{"field": "metadata.uid", "message": "field is immutable"}]

    error = errors.from_status(422, {"message": "no", "reason": "Invalid", "details": {"causes": causes}})

    assert type(error) is errors.Conflict
    assert error.code == 422


def test_no_answer_is_no_api_error():
    assert not issubclass(errors.Unreachable, errors.ApiError)


def test_retry_later_says_when_and_why():
    later = errors.RetryLater(2.5, "the cluster still holds work")

    assert (later.after, str(later)) == (2.5, "the cluster still holds work")
