// The button that changes between light and dark; without it the page follows the system.
const button = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
const tell = () => { button.textContent = now() === "dark" ? "Light colours" : "Dark colours"; };
button.hidden = false;
button.addEventListener("click", () => {
  document.documentElement.dataset.theme = now() === "dark" ? "light" : "dark";
  tell();
});
dark.addEventListener("change", tell);
tell();
