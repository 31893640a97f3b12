// The box of the claim: one sentence is always visible, the rest is in a `details` element.

import { find, h, short } from "./dom.js";

/** Shows a claim. */
export function showClaim({ sentence, numbers, theorem, holds }, final) {
  const mark = final ? h("span", { class: holds ? "mark good" : "mark open" }, holds ? "✓" : "…") : null;
  find("claim-sentence").replaceChildren(...sentence, ...(mark ? [" ", mark, h("span", { class: "quiet-words" }, holds ? " holds" : " not proved")] : []));
  const known = numbers.filter(([, value]) => value !== null && value !== undefined);
  find("claim-numbers").replaceChildren(...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, short(value, 7))]));
  find("claim-theorem").replaceChildren(...theorem.map((line) => h("p", {}, ...(Array.isArray(line) ? line : [line]))));
  find("claim-more").hidden = known.length === 0 && theorem.length === 0;
  find("claim").dataset.kind = "claim";
}

/** Shows a notice instead of a claim, such as missing points or an error, with buttons for remedies. */
export function showNotice(text, { kind = "notice", actions = [] } = {}) {
  find("claim-sentence").replaceChildren(text, ...actions.flatMap(([label, act]) => [" ", h("button", { class: "inline", onclick: act }, label)]));
  find("claim-numbers").replaceChildren();
  find("claim-theorem").replaceChildren();
  find("claim-more").hidden = true;
  find("claim").dataset.kind = kind;
}

/** Shows verdicts on classes below the claim. */
export function showVerdict(lines) {
  find("verdict").replaceChildren(...lines.map((line) => h("p", {}, line)));
  find("verdict").hidden = lines.length === 0;
}
