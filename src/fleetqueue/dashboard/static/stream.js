// Follow the server: everything once, then what changes, and all over again after a lost connection.
// EventSource cannot send a header, and the token travels in one; so the stream is read by fetch.

const FIRST_DELAY = 500, LAST_DELAY = 10_000, SILENCE = 20_000;

// The token comes in the fragment of the link and moves to the storage of this tab, out of sight and history.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token");
}

export const ask = (path, options = {}) =>
  fetch(path, { ...options, headers: { Authorization: `Bearer ${sessionStorage.getItem("token")}` } });

// Calls onmessage(event, data) and onstate("live" | "reconnecting" | "refused"); returns when the token is refused.
export async function follow(onmessage, onstate) {
  for (let delay = FIRST_DELAY; ; delay = Math.min(delay * 2, LAST_DELAY)) {
    try {
      const status = await readOnce((event, data) => {
        delay = FIRST_DELAY;
        onmessage(event, data);
        onstate("live");
      });
      if (status === 401) return onstate("refused");
    } catch (error) {
      if (!(error instanceof TypeError || error.name === "AbortError")) throw error; // not a lost connection
    }
    onstate("reconnecting");
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}

async function readOnce(onmessage) {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE);
  try {
    const response = await ask("/api/stream", { signal: silence.signal });
    if (!response.ok) return response.status;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pending = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return response.status;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE);
      pending.push(value);
      if (value.includes("\n\n") || value.startsWith("\n")) pending = [messages(pending.join(""), onmessage)];
    }
  } finally {
    clearTimeout(timer);
  }
}

// Hand on every whole message of a text; return what is left of it.
function messages(text, onmessage) {
  const parts = text.split("\n\n");
  const rest = parts.pop();
  for (const part of parts) {
    const [, event] = part.match(/^event: (.*)$/m) ?? [];
    const at = part.indexOf("\ndata: ");
    if (event && at >= 0) onmessage(event, JSON.parse(part.slice(at + 7)));
  }
  return rest;
}
