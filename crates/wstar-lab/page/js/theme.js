// Light, dark, or as the system has it.

import { find } from "./dom.js";

const NEXT = { system: "light", light: "dark", dark: "system" };
const KEY = "wstar-theme";

/** Puts the last choice in place, and lets the button change it. */
export function chooseTheme(redraw) {
  let now = localStorage.getItem(KEY) ?? "system";
  const apply = () => {
    document.documentElement.dataset.theme = now;
    find("theme").setAttribute("aria-label", `colours: ${now}`);
    find("theme").title = `colours: ${now}`;
    redraw();
  };
  find("theme").addEventListener("click", () => {
    now = NEXT[now] ?? "light";
    localStorage.setItem(KEY, now);
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  document.documentElement.dataset.theme = now;
  find("theme").setAttribute("aria-label", `colours: ${now}`);
}
