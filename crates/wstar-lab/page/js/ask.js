// Requests to the engine: a POST, answered by lines of JSON. Aborting a request cancels its computation.

/** An error that the engine or the connection to it reports. */
export class Refused extends Error {
  constructor(message, { gone = false } = {}) {
    super(message);
    this.gone = gone;
  }
}

/** Sends a request; calls `progress` and `row` for the messages that precede the answer. */
export async function ask(path, body, { signal, progress, row } = {}) {
  const bytes = body instanceof Blob || body instanceof ArrayBuffer;
  let response;
  try {
    response = await fetch(`/api/${path}`, {
      method: "POST",
      headers: { "content-type": bytes ? "application/octet-stream" : "application/json" },
      body: bytes ? body : JSON.stringify(body),
      signal,
    });
    return await answer(response, progress, row);
  } catch (error) {
    if (error instanceof Refused || error.name === "AbortError") throw error;
    throw new Refused("The engine does not respond. Is `wstar lab` still running?", { gone: true });
  }
}

async function answer(response, progress, row) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.error !== undefined) throw new Refused(message.error);
      if (message.answer !== undefined) return message.answer;
      if (message.progress !== undefined) progress?.(message.progress);
      if (message.row !== undefined) row?.(message.row);
    }
    if (done) throw new Refused("The engine stopped before its response was complete.", { gone: true });
  }
}

/** A function that sends requests of one kind: a new request cancels the previous one, which then returns null. */
export function latest() {
  let current = null;
  const asking = async (path, body, watching = {}) => {
    current?.abort();
    const own = new AbortController();
    current = own;
    try {
      return await ask(path, body, { ...watching, signal: own.signal });
    } catch (error) {
      if (error.name === "AbortError" || own.signal.aborted) return null;
      throw error;
    } finally {
      if (current === own) current = null;
    }
  };
  asking.cancel = () => current?.abort();
  return asking;
}

/** The data sets that the engine contains. */
export async function sets() {
  const response = await fetch("/api/sets");
  return response.json();
}
