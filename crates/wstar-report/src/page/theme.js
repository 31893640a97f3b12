// The button that switches between the light and the dark theme; without a choice the page follows the system.
const button = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
const showLabel = () => { button.textContent = now() === "dark" ? "Light colours" : "Dark colours"; };
button.hidden = false;
button.addEventListener("click", () => {
  document.documentElement.dataset.theme = now() === "dark" ? "light" : "dark";
  showLabel();
});
dark.addEventListener("change", showLabel);
showLabel();
