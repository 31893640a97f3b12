// The panel of the method: a menu, and a control for each setting that applies.

import { find, h, short } from "./dom.js";
import { GROUPS, METHODS, applies, method, value } from "./methods.js";

/** Builds the menu of methods once. */
export function buildMenu(change) {
  const menu = find("method");
  for (const [group, label] of Object.entries(GROUPS)) {
    const own = METHODS.filter((one) => one.group === group);
    menu.append(h("optgroup", { label }, ...own.map((one) => h("option", { value: one.name }, one.label))));
  }
  menu.addEventListener("change", () => change({ method: menu.value }));
}

/** Shows the settings of the scene's method. */
export function showSettings(scene, change) {
  find("method").value = scene.method;
  const shown = method(scene.method).settings.filter((setting) => applies(scene, setting));
  const box = find("settings");
  // The control that has the focus keeps it when the panel is rebuilt.
  const active = document.activeElement?.dataset?.setting;
  box.replaceChildren(...shown.flatMap((setting) => CONTROLS[setting.kind](scene, setting, change)));
  if (active) box.querySelector(`[data-setting="${active}"]`)?.focus();
}

const id = (setting) => `set-${setting.name}`;
const labelled = (setting, control, extra = null) => [h("label", { for: id(setting) }, setting.label), h("span", { class: "control" }, control, extra)];

const CONTROLS = {
  choice(scene, setting, change) {
    const now = value(scene, setting);
    const control = h("select", { id: id(setting), "data-setting": setting.name, onchange: (event) => change({ setting: setting.name, value: event.target.value }) },
      ...setting.choices.map((choice) => h("option", { value: choice, selected: choice === now }, choice)));
    return labelled(setting, control);
  },
  switch(scene, setting, change) {
    const control = h("input", { type: "checkbox", id: id(setting), "data-setting": setting.name, checked: Boolean(value(scene, setting)),
      onchange: (event) => change({ setting: setting.name, value: event.target.checked || undefined }) });
    return labelled(setting, control);
  },
  seed(scene, setting, change) {
    const control = h("input", { type: "number", id: id(setting), "data-setting": setting.name, min: 0, value: scene.seed,
      onchange: (event) => change({ seed: Math.max(0, Math.floor(Number(event.target.value) || 0)) }) });
    return labelled(setting, control);
  },
  vector(scene, plain, change) {
    const weights = method(scene.method).regression ? "w" : "w₁, w₂";
    const setting = { ...plain, label: `start ${scene.settings.no_intercept ? "" : "b, "}${weights}` };
    const control = h("input", { type: "text", id: id(setting), "data-setting": setting.name, value: value(scene, setting) ?? "", placeholder: "0", inputmode: "text",
      onchange: (event) => change({ setting: setting.name, value: event.target.value.trim() || undefined }) });
    return labelled(setting, control);
  },
  linear(scene, setting, change) {
    return slider(scene, setting, change, (position) => position, (now) => now, [setting.least, setting.most, setting.step]);
  },
  log(scene, setting, change) {
    const round = (number) => (setting.whole ? Math.round(number) : Number(number.toPrecision(2)));
    return slider(scene, setting, change, (position) => round(10 ** position), Math.log10, [Math.log10(setting.least), Math.log10(setting.most), 0.05]);
  },
};

function slider(scene, setting, change, toValue, toPosition, [min, max, step]) {
  const own = scene.settings[setting.name];
  const now = value(scene, setting);
  const auto = setting.optional && own === undefined;
  const output = h("output", { for: id(setting) }, auto ? "auto" : short(now, 3));
  const control = h("input", {
    type: "range", id: id(setting), "data-setting": setting.name, min, max, step, value: toPosition(now), "aria-valuetext": auto ? "chosen by the method" : short(now, 3),
    oninput: (event) => {
      const next = toValue(Number(event.target.value));
      output.textContent = short(next, 3);
      event.target.setAttribute("aria-valuetext", short(next, 3));
      change({ setting: setting.name, value: next, sliding: true });
    },
  });
  const clear = setting.optional && !auto
    ? h("button", { class: "inline", type: "button", title: "let the method choose", "aria-label": `${setting.label}: let the method choose`, onclick: () => change({ setting: setting.name, value: undefined }) }, "auto")
    : null;
  return labelled(setting, control, h("span", {}, output, clear));
}
