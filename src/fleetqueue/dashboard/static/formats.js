// Amounts and times as people read them.

import { el } from "./elements.js";
import { language, t } from "./texts.js";

const UNITS = [["Pi", 2 ** 50], ["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]];

// How far the hub's clock is ahead of the browser's, in seconds.
let ahead = 0;
export const setNow = (seconds) => { ahead = seconds - Date.now() / 1000; };
export const now = () => Date.now() / 1000 + ahead;

export function amount(resource, value) {
  if (resource === "memory" || resource.includes("storage")) {
    const [unit, size] = UNITS.find(([, size]) => value >= size) ?? ["", 1];
    return `${short(value / size)}${unit}`;
  }
  return short(value);
}

const short = (value) => String(Number(value.toFixed(value < 10 ? 1 : 0)));

export const resourceName = (resource) =>
  ({ cpu: "CPU", memory: t("memory"), "nvidia.com/gpu": "GPU", "google.com/tpu": "TPU" })[resource] ?? resource;

// 45s, 9m13s, 22m, 5h2m, 3d: as kubectl writes ages.
export function duration(seconds) {
  const s = Math.max(Math.floor(seconds), 0), m = Math.floor(s / 60), h = Math.floor(s / 3600);
  if (s < 120) return `${s}s`;
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (h < 3) return `${m}m`;
  if (h < 8) return m % 60 ? `${h}h${m % 60}m` : `${h}h`;
  return h < 48 ? `${h}h` : `${Math.floor(h / 24)}d`;
}

// The time of day, with the date where that is not today.
export function moment(seconds, { brief = false } = {}) {
  const date = new Date(seconds * 1000);
  return formatter(date.toDateString() !== new Date().toDateString(), brief).format(date);
}

// Making a formatter takes longer than drawing the cell that it is for.
const formatters = new Map();
function formatter(dated, brief) {
  const name = `${language()} ${dated} ${brief}`;
  if (!formatters.has(name)) {
    const day = dated ? { month: "short", day: "numeric" } : {};
    const time = { hour: "2-digit", minute: "2-digit", ...(brief ? {} : { second: "2-digit" }), hourCycle: "h23" };
    formatters.set(name, new Intl.DateTimeFormat(language(), { ...day, ...time }));
  }
  return formatters.get(name);
}

export function when(seconds, options) {
  if (!seconds) return "–";
  const iso = new Date(seconds * 1000).toISOString();
  return el("time", { datetime: iso, title: iso }, moment(seconds, options));
}

// An age that goes on by itself: `tickAges` writes it anew every second.
export const age = (since) => el("span", { "data-since": since }, duration(now() - since));

export function tickAges() {
  for (const node of document.querySelectorAll("[data-since]")) {
    const text = duration(now() - Number(node.dataset.since));
    if (node.textContent !== text) node.textContent = text;
  }
}
