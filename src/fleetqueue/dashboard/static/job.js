// One job opened up, in a dialog: the browser keeps the focus inside, closes it with Escape and gives the focus back.

import { badge } from "./charts.js";
import { byId, el } from "./elements.js";
import { age, when } from "./formats.js";
import { eventList } from "./events.js";
import { model } from "./model.js";
import { ask } from "./stream.js";
import { t } from "./texts.js";

let open = "", shown = "";

export function openJob(key) {
  open = key;
  shown = "";
  const dialog = byId("job");
  dialog.onclose ??= () => { if (!dialog.open) open = ""; }; // told late: another job may be open by then
  dialog.onclick ??= (event) => { if (event.target === dialog) dialog.close(); };
  if (!dialog.open) {
    dialog.replaceChildren(); // rather nothing than the job before
    dialog.showModal();
  }
  refreshJob();
}

// Ask the server again about the job that is open, if one is; draw it where something differs.
export async function refreshJob() {
  if (!open) return;
  const key = open;
  const response = await ask(`/api/jobs/${key.split("/").map(encodeURIComponent).join("/")}`).catch(() => null);
  if (!response) return; // the connection is lost, which the top of the page says
  const text = response.ok ? await response.text() : "";
  if (key !== open) return;
  const events = [...model.events.values()].filter((event) => isAbout(event, key));
  const drawn = text + events.length + document.documentElement.lang;
  if (drawn === shown) return;
  shown = drawn;
  byId("job").replaceChildren(...content(text ? JSON.parse(text) : null, key, events));
  byId("job").querySelector(".close").focus();
}

function isAbout(event, key) {
  const job = model.jobs.get(key), [kind, name] = job ? job.job.split("/") : [];
  return event.about === key || (job && event.kind === kind && event.about === `${job.namespace}/${name}`);
}

function content(detail, key, events) {
  const closes = { type: "button", class: "close", "aria-label": t("close"), onclick: () => byId("job").close() };
  const close = el("button", closes, "×");
  if (!detail) return [el("header", {}, el("h2", { id: "job-heading" }, key), close), el("p", {}, t("goneJob"))];
  return [
    el("header", {}, el("h2", { id: "job-heading" }, detail.job), badge(detail.state, t(detail.state)), close),
    el("h3", {}, t("whyHeading")),
    el("p", { class: "answer" }, detail.reason),
    place(key),
    detail.next ? [el("h3", {}, t("nextHeading")), el("p", { class: "answer" }, detail.next)] : [],
    section("chainHeading", ["state", "kind", "name", "message"],
      detail.chain.map((row) => [row.state, row.kind, row.name, row.says || "–"])),
    section("clustersHeading", ["cluster", "answer", "why"],
      detail.clusters.map((row) => [row.name, row.answer, row.reason || "–"])),
    section("checksHeading", ["check", "state", "message"],
      detail.checks.map((row) => [row.name, row.state, row.message || "–"])),
    el("h3", {}, t("factsHeading")),
    facts(detail),
    section("conditionsHeading", ["condition", "since", "message"],
      detail.conditions.map((row) => [`${row.type}: ${row.status}`, when(row.since), [row.reason, row.message].filter(Boolean).join(": ")])),
    events.length ? [el("h3", {}, t("events")), eventList(events)] : [],
  ].flat();
}

function place(key) {
  const place = model.places.get(key);
  return place ? [el("p", { class: "quiet" }, `${t("placeIn")}: ${t("place", place.place, place.of, place.queue)}`)] : [];
}

function section(heading, columns, rows) {
  if (!rows.length) return [];
  const row = (cells) => el("tr", { role: "row" }, cells);
  return [el("h3", {}, t(heading)), el("table", { role: "table", "aria-label": t(heading) }, // roles: the style may make cards of rows
    el("thead", { role: "rowgroup" }, row(columns.map((name) => el("th", { role: "columnheader", scope: "col" }, t(name))))),
    el("tbody", { role: "rowgroup" }, rows.map((cells) => row(cells.map((cell) => el("td", { role: "cell" }, cell))))))];
}

function facts(detail) {
  const pairs = [
    ["namespace", detail.namespace],
    ["workload", detail.workload],
    ["queue", detail.queue || "–"],
    ["priority", String(detail.priority)],
    ["created", detail.created ? [when(detail.created), " (", age(detail.created), ")"] : "–"],
    ["requests", Object.entries(detail.requests).map(([name, value]) => `${name} ${value}`).join(", ") || "–"],
    ["evictions", String(detail.evictions)],
  ];
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => [el("dt", {}, t(name)), el("dd", {}, value)]));
}
