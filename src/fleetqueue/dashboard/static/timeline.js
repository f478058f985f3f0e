// Jobs on a timeline, a row for each cluster: light while a job waits, solid while it runs.
// Only the rows in sight are drawn, on a canvas; the table of jobs tells the same to who does not see it.

import { byId, choice, el } from "./elements.js";
import { duration, moment, now } from "./formats.js";
import { openJob } from "./job.js";
import { lanes, steps } from "./lanes.js";
import { byName, model } from "./model.js";
import { t } from "./texts.js";

const RANGES = [["fit", 0], ["15m", 900], ["1h", 3600], ["6h", 21600], ["24h", 86400]];
const AXIS = 24, GAP = 5, MOST_HEIGHT = 420;
let scroller, canvas, content, tip, range = "fit", rows = [], bars = [], drawnLanguage = "";
let size = { width: 0, height: 0, top: 0 }, colors = null, font = ""; // known, so that to paint lays nothing out

export function drawTimeline() {
  if (!scroller) build();
  if (drawnLanguage !== document.documentElement.lang) writeControls();
  rows = timelineRows();
  content.style.height = `${AXIS + rows.length * rowHeight()}px`;
  paint();
}

function build() {
  canvas = el("canvas", { role: "img" });
  content = el("div", { class: "timeline-content" }, canvas);
  tip = el("p", { class: "tip", hidden: true });
  scroller = el("div", { class: "scroller timeline", tabindex: 0, role: "group" }, content);
  scroller.addEventListener("scroll", measure, { passive: true });
  canvas.addEventListener("mousemove", point);
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { const bar = barAt(event); if (bar) openJob(bar.job.key); });
  new ResizeObserver(measure).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colors = null; paint(); });
  byId("timeline").append(scroller, tip);
}

function writeControls() {
  drawnLanguage = document.documentElement.lang;
  const options = RANGES.map(([name]) => [name, name === "fit" ? t("fit") : name]);
  byId("ranges").replaceChildren(choice(t("range"), options, range, (value) => { range = value; drawTimeline(); }));
  const states = ["waiting", "running", "done", "failed"];
  byId("legend").replaceChildren(...states.map((state) => el("li", { class: state }, t(state))));
}

// All clusters in the order of their names; first a row for jobs that are nowhere, if there are any.
function timelineRows() {
  const found = new Map([...model.clusters.values()].sort(byName).map((cluster) => [cluster.name, []]));
  const nowhere = [];
  for (const job of model.jobs.values()) {
    if (!job.clusters.length) nowhere.push(job);
    for (const name of job.clusters) {
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(job);
    }
  }
  const listed = [...found].map(([name, jobs]) => ({ name, jobs }));
  return nowhere.length ? [{ name: "", jobs: nowhere }, ...listed] : listed;
}

const rowHeight = () => Math.min(Math.max(Math.floor((MOST_HEIGHT - AXIS) / Math.max(rows.length, 1)), 34), 84);

// The first and the last moment in sight.
function span() {
  const seconds = RANGES.find(([name]) => name === range)[1], to = now();
  if (seconds) return [to - seconds, to];
  let first = to - 60;
  for (const job of model.jobs.values()) first = Math.min(first, job.created);
  return [Math.max(first - (to - first) * 0.02, to - 86400), to];
}

function measure() {
  size = { width: scroller.clientWidth, height: scroller.clientHeight, top: scroller.scrollTop };
  paint();
}

export function paint() {
  if (!size.width) return;
  const { width } = size, height = Math.min(size.height, AXIS + rows.length * rowHeight()), scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d"), [from, to] = span();
  const left = Math.min(150, width * 0.33), right = width - 12;
  colors ??= palette();
  font ||= getComputedStyle(document.body).fontFamily;
  const view = { pen, from, to, left, right, height, x: (time) => left + (time - from) / (to - from) * (right - left), color: colors };
  view.ticks = steps(from, to, Math.max(Math.floor((right - left) / 90), 2));
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${font}`;
  pen.textBaseline = "middle";
  scroller.setAttribute("aria-label", t("timeline"));
  canvas.setAttribute("aria-label", t("timelineLabel", model.jobs.size, model.clusters.size, moment(from)));
  paintGrid(view);
  paintRows(view);
  paintAxis(view, width);
}

function paintRows({ pen, from, left, right, height, x, color }) {
  const tall = rowHeight(), first = Math.floor(size.top / tall);
  bars = [];
  for (let index = first; index < rows.length; index += 1) {
    const top = AXIS + index * tall - size.top;
    if (top > height) break;
    pen.fillStyle = color.line;
    pen.fillRect(0, top + tall - 1, right + 12, 1);
    pen.fillStyle = rows[index].name ? color.text : color.quiet;
    pen.fillText(cut(pen, rows[index].name || t("noCluster"), left - 20), 12, top + tall / 2);
    const visible = rows[index].jobs.filter((job) => (job.ended ?? Infinity) >= from);
    const { placed, count } = lanes(visible, now(), Math.max(Math.floor((tall - 2 * GAP) / 3), 1));
    const thick = Math.min((tall - 2 * GAP) / count, 12);
    const middle = top + (tall - thick * count) / 2;
    for (const [job, lane] of placed) paintBar(job, middle + lane * thick, Math.max(thick - 1, 1.5), { pen, x, left, right, color });
  }
}

function paintBar(job, top, thick, { pen, x, left, right, color }) {
  const start = Math.max(x(job.created), left), end = Math.min(x(job.ended ?? now()), right);
  const begun = Math.min(Math.max(job.admitted ? x(job.admitted) : end, start), end);
  pen.fillStyle = color.waiting;
  if (begun > start) pen.fillRect(start, top, Math.max(begun - start, 1), thick);
  if (job.admitted || job.ended) {
    pen.fillStyle = color[job.state] ?? color.running;
    pen.fillRect(begun, top, Math.max(end - begun, 2), thick);
    if (job.state === "failed") { // known also without colours, by its mark at the end
      pen.fillStyle = color.text;
      pen.fillRect(Math.max(end - 2, begun), top, 2, thick);
    }
  }
  bars.push({ job, left: start, right: Math.max(end, begun + 2), top, bottom: top + thick });
}

function paintGrid({ pen, left, height, x, color, ticks }) {
  pen.fillStyle = color.line;
  for (const time of ticks) if (x(time) > left) pen.fillRect(Math.round(x(time)), AXIS - 5, 1, height);
}

function paintAxis({ pen, from, to, left, right, height, x, color, ticks }, width) {
  pen.fillStyle = color.surface;
  pen.fillRect(0, 0, width, AXIS - 1);
  pen.fillStyle = color.quiet;
  pen.textAlign = "center";
  for (const time of ticks) {
    const at = x(time), text = moment(time, { brief: to - from > 600 });
    if (at > left + 24 && at < right - 24) pen.fillText(text, at, AXIS / 2);
  }
  pen.textAlign = "start";
  pen.fillStyle = color.accent;
  pen.fillRect(Math.round(right), AXIS - 5, 1, height);
}

function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["text", "quiet", "line", "surface", "accent", "waiting", "running", "done", "failed"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)]));
}

function cut(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

const barAt = ({ offsetX, offsetY }) =>
  bars.find((bar) => offsetX >= bar.left - 1 && offsetX <= bar.right + 1 && offsetY >= bar.top - 1 && offsetY <= bar.bottom + 1);

function point(event) {
  const bar = barAt(event);
  tip.hidden = !bar;
  canvas.style.cursor = bar ? "pointer" : "";
  if (!bar) return;
  const { job } = bar;
  const waited = (job.admitted ?? job.ended ?? now()) - job.created;
  const ran = job.admitted ? ` · ${t("runs")} ${duration((job.ended ?? now()) - job.admitted)}` : "";
  tip.textContent = `${job.namespace}/${job.job} · ${t(job.state)} · ${t("waits")} ${duration(waited)}${ran}`;
  const box = byId("timeline").getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY - box.top + 16}px`;
}
