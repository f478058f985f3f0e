// ClusterQueues and LocalQueues.

import { badge, meter } from "./charts.js";
import { byId, el, twoLines } from "./elements.js";
import { amount, resourceName } from "./formats.js";
import { byName, model } from "./model.js";
import { VirtualTable } from "./table.js";
import { t } from "./texts.js";

let clusterQueues, localQueues;

export function drawQueues(anew = false) {
  clusterQueues ??= new VirtualTable(byId("cluster-queues"), {
    name: "cluster-queues", label: () => t("clusterQueue"), empty: () => t("noQueues"), columns: [
      { id: "name", label: () => t("clusterQueue"), cell: (row) => twoLines(row.name, surroundings(row).join(", ")) },
      { id: "state", label: () => t("state"), cell: activity },
      { id: "quota", label: () => t("quota"), cell: quota },
      ...numbers,
    ],
  });
  localQueues ??= new VirtualTable(byId("local-queues"), {
    name: "local-queues", label: () => t("localQueue"), empty: () => t("noQueues"), columns: [
      { id: "name", label: () => t("localQueue"), cell: (row) => twoLines(`${row.namespace}/${row.name}`, `→ ${row.queue}`) },
      { id: "state", label: () => t("state"), cell: activity },
      ...numbers,
    ],
  });
  clusterQueues.show([...model.queues.values()].sort(byName), anew);
  localQueues.show([...model.localQueues.values()].sort(byName), anew);
}

const surroundings = (row) => [...row.checks, ...(row.cohort ? [t("cohort", row.cohort)] : [])];

const numbers = [
  { id: "admitted", number: true, label: () => t("admitted"), cell: (row) => String(row.admitted) },
  { id: "waiting", number: true, label: () => t("waitingNumber"), cell: (row) => String(row.waiting) },
];

const activity = (row) => badge(row.active === "True" ? "good" : row.active === "False" ? "bad" : "unsure",
  t(row.active === "True" ? "active" : row.active === "False" ? "inactive" : "unknown"), row.why);

const quota = (row) => el("div", { class: "quotas" }, Object.entries(row.quota).map(([name, [held, total]]) => {
  const text = t("held", amount(name, held), amount(name, total));
  const label = `${resourceName(name)}: ${text}`;
  return el("div", { class: "held" },
    el("span", { class: "quiet" }, resourceName(name)), el("span", {}, text), meter(held, total, label));
}));
