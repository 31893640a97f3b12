// Questions to the engine: a POST, and lines of JSON for an answer. Aborting a question cancels the work behind it.

/** What the engine, or the way to it, says went wrong. */
export class Refused extends Error {
  constructor(message, { gone = false } = {}) {
    super(message);
    this.gone = gone;
  }
}

/** Asks, and tells of progress and rows on the way. */
export async function ask(question, body, { signal, progress, row } = {}) {
  const bytes = body instanceof Blob || body instanceof ArrayBuffer;
  let response;
  try {
    response = await fetch(`/api/${question}`, {
      method: "POST",
      headers: { "content-type": bytes ? "application/octet-stream" : "application/json" },
      body: bytes ? body : JSON.stringify(body),
      signal,
    });
    return await answer(response, progress, row);
  } catch (error) {
    if (error instanceof Refused || error.name === "AbortError") throw error;
    throw new Refused("The engine does not answer. Is `wstar lab` still running?", { gone: true });
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
      const told = JSON.parse(line);
      if (told.error !== undefined) throw new Refused(told.error);
      if (told.answer !== undefined) return told.answer;
      if (told.progress !== undefined) progress?.(told.progress);
      if (told.row !== undefined) row?.(told.row);
    }
    if (done) throw new Refused("The engine stopped in the middle of an answer.", { gone: true });
  }
}

/** Of several questions of one kind only the last one counts: asking again cancels the one before. */
export function latest() {
  let current = null;
  const asking = async (question, body, watching = {}) => {
    current?.abort();
    const own = new AbortController();
    current = own;
    try {
      return await ask(question, body, { ...watching, signal: own.signal });
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

/** The data sets inside the engine. */
export async function sets() {
  const response = await fetch("/api/sets");
  return response.json();
}
