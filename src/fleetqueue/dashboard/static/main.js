// The page: it follows the server, and draws at most once for each frame what has changed.

import { byId, el } from "./elements.js";
import { drawEvents } from "./events.js";
import { drawFleet } from "./fleet.js";
import { setNow, tickAges } from "./formats.js";
import { refreshJob } from "./job.js";
import { drawJobs } from "./jobs.js";
import { model, take } from "./model.js";
import { drawQueues } from "./queues.js";
import { follow, takeToken } from "./stream.js";
import { language, setLanguage, t, writeTexts } from "./texts.js";
import { drawTimeline, paint } from "./timeline.js";

const PARTS = [
  [drawFleet, ["clusters"]],
  [drawQueues, ["queues", "localQueues"]],
  [drawTimeline, ["clusters", "jobs"]],
  [drawJobs, ["jobs"]],
  [drawEvents, ["events"]],
];
const QUIET_SECONDS = 10; // between two things that are said aloud
let changed = new Set(), state = "loading", said = "", saidAt = -Infinity;

function onmessage(event, data) {
  setNow(data.now);
  for (const name of take(event, data)) changed.add(name);
  if (!drawing) drawing = requestAnimationFrame(draw);
}
let drawing = 0;

function draw(anew = false) {
  drawing = 0;
  const names = anew === true ? null : changed;
  changed = new Set();
  byId("page").hidden = false;
  for (const [part, needs] of PARTS) if (!names || needs.some((name) => names.has(name))) part(!names);
  drawTop();
  refreshJob();
  performance.mark("drawn");
}

function drawTop() {
  const { problems, namespace } = model.notices;
  byId("hub").textContent = [t("hubAt", model.hub), namespace ? t("namespaceOnly", namespace) : ""].filter(Boolean).join(" · ");
  const available = [...model.clusters.values()].filter((row) => row.available === "True").length;
  const numbers = [
    ["clusters", `${available}/${model.clusters.size}`, "available"],
    ...["waiting", "starting", "running", "done", "failed"].map((name) => [name, model.counts[name] ?? 0, name]),
  ];
  byId("summary").replaceChildren(...numbers.map(([name, value], index) =>
    el("div", { class: name }, el("dt", {}, index ? t(name) : `${t("clusters")} · ${t("available")}`), el("dd", {}, String(value)))));
  byId("notices").replaceChildren(...problems.map((problem) =>
    el("li", {}, t(problem.stale ? "outOfDate" : "cannotSee", problem.kind, problem.message))));
  drawState();
  say();
}

function drawState() {
  const { problems, loading } = model.notices;
  const shown = state !== "live" ? state : loading?.length ? "loading" : problems.some((problem) => problem.stale) ? "stale" : "live";
  const live = byId("live");
  if (live.dataset.state === shown && live.textContent === t(shown)) return;
  live.dataset.state = shown;
  live.textContent = t(shown);
  if (shown !== "live") byId("announcer").textContent = t(shown);
}

// Tell screen readers how the jobs stand, when that has changed and not too often.
function say() {
  const { waiting = 0, starting = 0, running = 0, done = 0, failed = 0 } = model.counts;
  const text = t("jobsShown", waiting + starting, running, done, failed);
  if (text === said || performance.now() - saidAt < QUIET_SECONDS * 1000) return;
  said = text;
  saidAt = performance.now();
  byId("announcer").textContent = text;
}

function onstate(name) {
  state = name;
  if (name === "refused") return refuse();
  drawState();
}

function refuse() {
  byId("gate").textContent = t("needLink");
  byId("gate").hidden = false;
  byId("page").hidden = true;
  byId("live").hidden = true;
}

function writeLanguage() {
  writeTexts();
  const button = byId("language");
  button.textContent = t("switchTo");
  button.lang = language() === "zh" ? "en" : "zh-CN";
}

byId("language").onclick = () => {
  setLanguage(language() === "zh" ? "en" : "zh");
  writeLanguage();
  if (!byId("page").hidden) draw(true);
};
writeLanguage();
drawState();
setInterval(() => { tickAges(); paint(); }, 1000);
if (takeToken()) follow(onmessage, onstate);
else refuse();
