// Small drawings inside cells: a meter of what is taken, and the line of a score over time.

import { el, svg } from "./elements.js";

export function meter(part, whole, label) {
  const share = whole > 0 ? Math.min(Math.max(part / whole, 0), 1) : 0;
  const fill = svg("rect", { class: "fill", width: (share * 100).toFixed(1), height: 4, rx: 2 });
  return svg("svg", { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("rect", { class: "track", width: 100, height: 4, rx: 2 }), fill);
}

// points: [[seconds, score], ...] where the score changed; it holds until the next one, and until now.
export function scoreLine(points, from, to, label) {
  const width = 56, height = 16, span = Math.max(to - from, 1);
  const x = (time) => (Math.max(time - from, 0) / span * width).toFixed(1);
  const [low, high] = scale(points.map(([, score]) => score));
  const y = (score) => ((high - score) / (high - low) * (height - 3) + 1.5).toFixed(1);
  let path = "";
  points.forEach(([time, score], index) => { path += index ? `H${x(time)}V${y(score)}` : `M${x(time)},${y(score)}`; });
  path += `H${width}`;
  return svg("svg", { class: "line", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    svg("path", { d: path }));
}

// The part of -100 to 100 that a line needs, and no less than 20 points: noise must not look like news.
function scale(scores) {
  const low = Math.min(...scores), high = Math.max(...scores), more = Math.max(20 - (high - low), 0) / 2;
  return [low - more, high + more];
}

export const badge = (kind, text, title) => el("span", { class: `badge ${kind}`, title }, text);
