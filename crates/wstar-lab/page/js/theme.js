// The theme: light, dark or the system's.

import { find } from "./dom.js";

const NEXT = { system: "light", light: "dark", dark: "system" };
const KEY = "wstar-theme";

/** Applies the stored choice and connects the button that changes it. */
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
