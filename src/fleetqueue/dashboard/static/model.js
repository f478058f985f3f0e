// What the server has sent, and what several parts of the page derive from it.

const COLLECTIONS = ["clusters", "queues", "localQueues", "jobs", "events"];
export const model = { hub: "", notices: { problems: [], loading: [] }, counts: {}, places: new Map() };
for (const name of COLLECTIONS) model[name] = new Map();

// Take a message; return which collections have changed.
export function take(event, data) {
  model.notices = data.notices;
  if (event === "snapshot") {
    model.hub = data.hub;
    for (const name of COLLECTIONS) {
      model[name] = new Map(Object.entries(data.rows[name]));
      for (const [key, row] of model[name]) row.key = key;
    }
  }
  const changes = event === "snapshot" ? Object.fromEntries(COLLECTIONS.map((name) => [name, {}])) : data.changes;
  for (const [name, { put = {}, gone = [] }] of Object.entries(changes)) {
    for (const [key, row] of Object.entries(put)) model[name].set(key, Object.assign(row, { key }));
    for (const key of gone) model[name].delete(key);
  }
  if (changes.jobs) derive();
  return new Set(Object.keys(changes));
}

function derive() {
  const counts = { waiting: 0, starting: 0, running: 0, done: 0, failed: 0 };
  const waiting = new Map();
  for (const job of model.jobs.values()) {
    counts[job.state] += 1;
    if (job.state !== "waiting") continue;
    const queue = job.clusterQueue || job.queue;
    if (!waiting.has(queue)) waiting.set(queue, []);
    waiting.get(queue).push(job);
  }
  model.counts = counts;
  model.places = new Map();
  for (const [queue, jobs] of waiting) {
    jobs.sort(nextFirst).forEach((job, index) => model.places.set(job.key, { place: index + 1, of: jobs.length, queue }));
  }
}

// Kueue's order: higher priority first, then who waits longest, then by uid.
export const nextFirst = (a, b) => b.priority - a.priority || a.queued - b.queued || (a.uid < b.uid ? -1 : 1);

const names = new Intl.Collator(undefined, { numeric: true });
export const byName = (a, b) => names.compare(a.name, b.name);
