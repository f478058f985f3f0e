// Recent Events, the newest first.

import { badge } from "./charts.js";
import { byId, el } from "./elements.js";
import { when } from "./formats.js";
import { model } from "./model.js";
import { VirtualTable } from "./table.js";
import { t } from "./texts.js";

let table;
const newestFirst = (a, b) => b.time - a.time || (a.key < b.key ? 1 : -1);

export function drawEvents(anew = false) {
  table ??= new VirtualTable(byId("events"), {
    name: "events", label: () => t("events"), empty: () => t("noEvents"), columns: [
      { id: "time", label: () => t("time"), cell: (row) => when(row.time) },
      { id: "reason", label: () => t("reason"), cell: reason },
      { id: "about", label: () => t("about"), cell: (row) => [el("span", { class: "quiet" }, `${row.kind} `), row.about] },
      { id: "note", label: () => t("note"), cell: (row) => el("span", { class: "words", title: row.note }, row.note) },
    ],
  });
  table.show([...model.events.values()].sort(newestFirst), anew);
}

const reason = (row) => [
  row.type === "Warning" ? badge("bad", row.reason) : row.reason,
  row.count > 1 ? ` ${t("times", row.count)}` : "",
];

export const eventList = (events) => el("ul", { class: "event-list" }, events.sort(newestFirst).map((event) =>
  el("li", {}, when(event.time), " ", el("b", {}, event.reason), " ", event.note)));
