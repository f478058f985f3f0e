"""Whether Prometheus gets the metrics that our alerts are about, as far as the hub's API shows it."""

from collections.abc import Iterator

from fleetqueue.admin.checkups.findings import Finding, applied, by_hand, found
from fleetqueue.admin.checkups.survey import FleetSurvey
from fleetqueue.admin.checkups.system_parts import SCRAPE, MetricsService, OwnPart, PrometheusRule, ServiceMonitor
from fleetqueue.manifests import shipped

SERVICE, MONITOR = (
    "kustomize/monitoring/controller_service.yaml",
    "kustomize/monitoring/controller_service_monitor.yaml",
)


def scraping(fleet: FleetSurvey) -> Iterator[Finding]:
    rules = fleet.all(PrometheusRule)
    if not rules or any(part.spec.template.metadata.annotations.get(SCRAPE) == "true" for part in fleet.all(OwnPart)):
        return
    monitors, services = fleet.all(ServiceMonitor), fleet.all(MetricsService)
    selected = [m for m in monitors if any(m.spec.selector.matches(s.metadata.labels) for s in services)]
    if selected:
        return
    what = "no Service that its ServiceMonitor selects" if monitors else "no ServiceMonitor"
    step = applied(*shipped(SERVICE), *shipped(MONITOR))
    if rules[0].namespace != "fleetqueue-system":
        step = by_hand(
            "helm upgrade fleetqueue with --reset-then-reuse-values --set metrics.serviceMonitor.enabled=true"
        )
    yield found("AlertsWithoutMetrics", rules[0], f"there is {what} for the controller", step)
