// Where bars and ticks of the timeline stand. Nothing here touches the page.

const STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400];

// Put jobs into as few lanes as let no two overlap; beyond `most` lanes, they share the last one.
export function lanes(jobs, now, most) {
  const ends = [];
  const placed = [...jobs].sort((a, b) => a.created - b.created || (a.key < b.key ? -1 : 1)).map((job) => {
    let lane = ends.findIndex((end) => end <= job.created);
    if (lane < 0) lane = ends.length < most ? ends.push(0) - 1 : most - 1;
    ends[lane] = Math.max(ends[lane], job.ended ?? now);
    return [job, lane];
  });
  return { placed, count: Math.max(ends.length, 1) };
}

// Round times between two, about `number` of them.
export function steps(from, to, number) {
  const step = STEPS.find((size) => (to - from) / size <= number) ?? 86400 * Math.ceil((to - from) / 86400 / number);
  const offset = new Date(from * 1000).getTimezoneOffset() * 60;
  const times = [];
  for (let time = Math.ceil((from - offset) / step) * step + offset; time < to; time += step) times.push(time);
  return times;
}
