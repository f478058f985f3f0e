// The table of jobs: those that wait in the order in which they are next, then the newest first.

import { badge } from "./charts.js";
import { byId, choice, el, twoLines } from "./elements.js";
import { age, duration, now, when } from "./formats.js";
import { openJob } from "./job.js";
import { model } from "./model.js";
import { VirtualTable } from "./table.js";
import { t } from "./texts.js";

export const STATES = ["waiting", "starting", "running", "done", "failed"];
const RANK = Object.fromEntries(STATES.map((state, index) => [state, Math.min(index, 3)]));
let table, filter = "all", drawnChoice = "";

export function drawJobs(anew = false) {
  table ??= new VirtualTable(byId("jobs"), {
    name: "jobs", label: () => t("jobs"), empty: () => t(model.jobs.size ? "noMatch" : "noJobs"), columns,
  });
  drawChoice();
  const search = byId("search");
  search.oninput ??= () => { table.rewind(); drawJobs(); };
  search.placeholder = t("search");
  search.setAttribute("aria-label", t("search"));
  table.show(chosenJobs(search.value.trim().toLowerCase()), anew);
}

const columns = [
  { id: "name", label: () => t("job"), cell: name },
  { id: "state", label: () => t("state"), cell: (row) => badge(row.state, t(row.state)) },
  { id: "where", label: () => t("where"), cell: (row) => row.clusters.join(", ") || "–" },
  { id: "created", label: () => t("created"), cell: (row) => when(row.created) },
  { id: "took", label: () => t("took"), cell: took },
  { id: "why", label: () => t("why"), cell: why },
];

function name(row) {
  const opens = { type: "button", class: "open", "aria-haspopup": "dialog", onclick: () => openJob(row.key) };
  return el("button", opens, twoLines(row.job, `${row.namespace} · ${row.queue || "–"}`));
}

function took(row) {
  if (!row.admitted && row.ended) return "–";
  if (!row.admitted) return age(row.created);
  const ran = row.ended ? duration(row.ended - row.admitted) : age(row.admitted);
  return [`${duration(row.admitted - row.created)} · `, ran];
}

function why(row) {
  const place = model.places.get(row.key);
  const text = row.why ?? "";
  const first = place ? [el("b", {}, t("place", place.place, place.of, place.queue)), " "] : [];
  return el("span", { class: "words", title: text }, first, text);
}

// Draw the filter anew only where it says something else: a focused button must keep its focus.
function drawChoice() {
  const options = STATES.map((state) => [state, `${t(state)} ${model.counts[state] ?? 0}`]);
  options.unshift(["all", `${t("all")} ${model.jobs.size}`]);
  const text = options.join();
  if (text === drawnChoice) return;
  const focused = byId("states").contains(document.activeElement);
  byId("states").replaceChildren(choice(t("filter"), options, filter, (value) => {
    filter = value;
    table.rewind();
    drawJobs();
  }));
  if (focused) byId("states").querySelector("input:checked").focus();
  drawnChoice = text;
}

function chosenJobs(search) {
  const jobs = [];
  for (const job of model.jobs.values()) {
    if (filter !== "all" && job.state !== filter) continue;
    if (search && !matches(job, search)) continue;
    jobs.push(job);
  }
  return jobs.sort((a, b) =>
    RANK[a.state] - RANK[b.state] || byPlace(a, b) || b.created - a.created || (a.key < b.key ? -1 : 1));
}

function byPlace(a, b) {
  const first = model.places.get(a.key), second = model.places.get(b.key);
  return first && second ? first.queue.localeCompare(second.queue) || first.place - second.place : 0;
}

const matches = (job, search) =>
  [job.key, job.job, job.queue, job.clusterQueue, job.why ?? "", ...job.clusters].some((text) => text.toLowerCase().includes(search));
