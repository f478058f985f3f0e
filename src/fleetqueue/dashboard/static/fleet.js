// The fleet: one row for each cluster.

import { badge, meter, scoreLine } from "./charts.js";
import { byId, el } from "./elements.js";
import { amount, now, resourceName, when } from "./formats.js";
import { byName, model } from "./model.js";
import { VirtualTable } from "./table.js";
import { t } from "./texts.js";

const RESOURCES = ["cpu", "memory", "nvidia.com/gpu", "google.com/tpu"];
const STATES = { True: ["good", "yes"], False: ["bad", "no"], Unknown: ["unsure", "unknown"] };
const CONNECTIONS = {
  True: ["good", "connected"], False: ["bad", "notConnected"], Unknown: ["unsure", "unknown"], "": ["quiet", "notUsed"],
};
let table, shown = "";

export function drawFleet(anew = false) {
  const clusters = [...model.clusters.values()].sort(byName);
  const resources = RESOURCES.filter((name) => name !== "google.com/tpu" || clusters.some((row) => row.room[name]?.[1]));
  if (shown !== resources.join()) {
    table?.scroller.remove();
    shown = resources.join();
    table = new VirtualTable(byId("fleet"), {
      name: "fleet", label: () => t("fleet"), empty: () => t("noClusters"), columns: columns(resources),
    });
  }
  table.show(clusters, anew);
}

const columns = (resources) => [
  { id: "name", label: () => t("cluster"), cell: (row) => el("span", { title: row.version }, row.name) },
  { id: "set", label: () => t("set"), cell: (row) => row.set || "–" },
  { id: "state", label: () => t("state"), cell: state },
  { id: "kueue", label: () => t("kueue"), cell: connection },
  { id: "until", label: () => t("credential"), cell: credential },
  ...resources.map((name, index) => ({ id: `resource r${index}`, label: () => resourceName(name), cell: (row) => resource(row, name) })),
];

function state(row) {
  if (!row.accepted) return badge("bad", t("notAccepted"));
  const [kind, text] = STATES[row.available] ?? STATES.Unknown;
  return badge(kind, t(text), row.why);
}

function connection(row) {
  if (row.leftOut.length) return badge("bad", t("leftOut"), row.leftOut.join("; "));
  const [kind, text] = CONNECTIONS[row.connected] ?? CONNECTIONS.Unknown;
  return badge(kind, t(text), row.refusal);
}

function credential(row) {
  if (row.refused) return badge("bad", t("refused"));
  if (!row.until) return el("span", { class: "quiet" }, t("noCredential"));
  const until = when(row.until, { brief: true });
  return row.until < now() ? badge("bad", until) : until;
}

function resource(row, name) {
  const [taken, has] = row.room[name] ?? [0, 0];
  const free = t("free", amount(name, Math.max(has - taken, 0)), amount(name, has));
  const score = row.scores[name];
  if (!has && (score === undefined || score <= -100)) return el("span", { class: "quiet" }, "–");
  const points = score === undefined ? "" : String(score).replace("-", "−");
  const label = t("scoreLine", resourceName(name), points);
  return el("div", { class: "room" },
    el("span", { class: "free" }, has ? free : ""),
    el("span", { class: "points", title: row.fresh === "False" ? t("silent") : null }, points),
    has ? meter(taken, has, free) : el("span"),
    score === undefined ? "" : scoreLine(row.history[name] ?? [], model.notices.since, now(), label));
}
