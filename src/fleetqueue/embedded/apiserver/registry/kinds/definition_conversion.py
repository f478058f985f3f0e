"""How a custom kind is converted between its versions: what a definition of that is refused for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import old_label

NONE, WEBHOOK = "None", "Webhook"
REVIEWS: Final = ("v1", "v1beta1")
FORM: Final = "; desired format: https://host[/path]"
FIELD: Final = "spec.conversion"
CLIENT: Final = f"{FIELD}.webhookClientConfig"
ONLY_WEBHOOKS: Final = "should not be set when strategy is not set to Webhook"


def conversion_faults(conversion: Mapping[str, Any] | None) -> Iterator[Cause]:
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    if not strategy:
        yield required(f"{FIELD}.strategy")
    elif strategy not in (NONE, WEBHOOK):
        yield not_supported(f"{FIELD}.strategy", strategy, [NONE, WEBHOOK])
    reviews = webhook.get("conversionReviewVersions") or ()
    if strategy == WEBHOOK:
        yield from _client_faults(webhook.get("clientConfig"))
        yield from _review_faults(reviews)
        return
    if webhook.get("clientConfig") is not None:
        yield forbidden(CLIENT, ONLY_WEBHOOKS)
    if reviews:
        yield forbidden(f"{FIELD}.conversionReviewVersions", ONLY_WEBHOOKS)


def _client_faults(client: Mapping[str, Any] | None) -> Iterator[Cause]:
    if client is None:
        yield required(CLIENT, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_faults(url)
    elif service is not None:
        for part in ("name", "namespace"):
            if not service.get(part):
                yield required(f"{CLIENT}.service.{part}")


def _url_faults(url: str) -> Iterator[Cause]:
    where, parts = f"{CLIENT}.url", urlsplit(url)
    if parts.scheme != "https":
        yield invalid_value(where, parts.scheme, f"'https' is the only allowed URL scheme{FORM}")
    if not parts.netloc:
        yield invalid_value(where, "", f"host must be specified{FORM}")
    if parts.username is not None:
        user = parts.netloc.rpartition("@")[0]
        yield invalid_value(where, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(where, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(where, parts.query, "query parameters are not permitted in the URL")


def _review_faults(versions: Sequence[str]) -> Iterator[Cause]:
    where = f"{FIELD}.conversionReviewVersions"
    if not versions:
        yield required(where)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid_value(f"{where}[{index}]", version, "duplicate version")
        else:
            yield from (invalid_value(f"{where}[{index}]", version, why) for why in old_label(version))
    if not set(versions) & set(REVIEWS):
        yield invalid_value(where, list(versions), f"must include at least one of {', '.join(REVIEWS)}")
