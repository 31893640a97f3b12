// The lab: a change of the scene sends a request to the engine, its answer becomes frames, and each step draws one frame.

import { Refused, latest } from "./ask.js";
import { drawCharts, markStep } from "./chart.js";
import { claim, verdict } from "./claim.js";
import { showNotice, showVerdict } from "./claimbox.js";
import { csv, python, shell } from "./command.js";
import { buildChoice, compare } from "./compare.js";
import { buildMenu, showSettings } from "./controls.js";
import { DataMenu } from "./datamenu.js";
import { count, debounced, find, h } from "./dom.js";
import { frames } from "./frames.js";
import { LESSONS, lesson } from "./lessons.js";
import { drawLosses } from "./losses.js";
import { method, settings } from "./methods.js";
import { OwnLine } from "./ownline.js";
import { drawPicture } from "./picture.js";
import { Plane } from "./plane.js";
import { readout } from "./readout.js";
import * as scenes from "./scene.js";
import { drawSurface, markSurface } from "./surface.js";
import { chooseTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { Tools } from "./tools.js";

let scene = scenes.empty();
let run = { fit: null, frames: [], verdict: null };
const undoHistory = new scenes.UndoHistory();
const fitting = latest();
const separating = latest();
const plane = new Plane();

const codes = () => scenes.used(scene);
const isRegression = () => Boolean(method(scene.method).regression);

// Points and changes of them.

const edit = {
  add(x, y, code) {
    own();
    while (scene.classes.length <= code) scene.classes.push("ABCDE"[scene.classes.length]);
    scene.points.x.push(x);
    scene.points.y.push(y);
    scene.points.c.push(code);
    refit();
  },
  move(row, x, y) {
    own();
    scene.points.x[row] = x;
    scene.points.y[row] = y;
    refit();
  },
  erase(row) {
    own();
    for (const values of Object.values(scene.points)) values.splice(row, 1);
    refit();
  },
};

/** Detaches the points from their data set or recipe, because they were changed. */
function own() {
  if (scene.data.kind !== "points") {
    scene.data = { kind: "points" };
    scene.columns = [];
    dataMenu.show(scene);
  }
  scene.step = null;
  Object.assign(scene, { lost: 0, refused: null });
}

const tools = new Tools(plane, {
  begin: () => undoHistory.keep(scene),
  edit,
  end: (changed) => (changed ? settle() : undoHistory.drop()),
  viewChanged: debounced(() => run.fit?.regions && fit(), 200),
  hover: (row, px, py) => readout(row, px, py, { scene, frame: run.frames[timeline.now], fit: run.fit, codes: codes(), plane }),
});

const dataMenu = new DataMenu({
  use({ rest = null, notes = [], ...found }) {
    if (rest === null) {
      undoHistory.keep(scene);
      // The starting weights were chosen for the previous points.
      delete scene.settings.start;
    }
    Object.assign(scene, found, rest ?? { step: null, line: null, lesson: null });
    Object.assign(scene, { lost: 0, refused: null });
    const measured = scene.real || scene.data.recipe?.kind === "line";
    if (measured && !isRegression()) Object.assign(scene, { method: "least-squares", settings: {} });
    if (!measured && isRegression() && rest === null) Object.assign(scene, { method: "logistic", settings: {} });
    plane.lookAt(scene.points);
    announce(notes.join(" ") || `${count(scenes.size(scene))} points`);
    showScene();
  },
  refuse(error, { file = false, rest = null }) {
    announce(error.message);
    if (rest) {
      // The points of a link are not available: show the rest of its scene and the error.
      scene = { ...scenes.empty(), ...rest, data: { kind: "points" }, columns: [], real: false, refused: error.message };
      showScene();
    } else showNotice(error.message, { kind: "error", actions: file ? [["choose another file", () => find("file").click()]] : [] });
  },
});

const ownLine = new OwnLine(plane, (line) => {
  const before = scene.line;
  scene.line = line;
  ownLine.show(scene);
  ownLine.judge(scene);
  if (line && !before) ownLine.seek(scene);
  settle();
});

// Fitting.

/** Milliseconds after which a newer request cancels a running fit. Faster fits are completed, so that the picture is updated during a drag. */
const PATIENCE = 300;
const requests = { wanted: 0, running: false, since: 0 };

/** Draws the points immediately, and starts a new fit. */
function refit() {
  drawFrame(timeline.now);
  fit();
}

async function fit() {
  requests.wanted += 1;
  if (requests.running) {
    const own = requests.since;
    setTimeout(() => requests.running && requests.since === own && fitting.cancel(), Math.max(0, own + PATIENCE - performance.now()));
    return;
  }
  requests.running = true;
  try {
    let done;
    do {
      done = requests.wanted;
      requests.since = performance.now();
      await fitOnce();
    } while (done < requests.wanted);
  } finally {
    requests.running = false;
  }
}

async function fitOnce() {
  const missing = missingData();
  if (missing) {
    fitting.cancel();
    run = { fit: null, frames: [], verdict: null };
    showVerdict([]);
    showNotice(...missing);
    finishRun();
    return;
  }
  const body = { data: scenes.data(scene), settings: settings(scene), trace: true, view: { ...plane.view, columns: 120, rows: 90 } };
  const busy = setTimeout(() => find("busy").hidden = false, 250);
  try {
    const found = await fitting("fit", body, { progress: (text) => { find("busy-text").textContent = text; } });
    if (!found) return;
    run = { fit: found, frames: frames(found, scene), verdict: run.verdict };
    finishRun();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    run = { fit: null, frames: [], verdict: run.verdict };
    const soft = scene.method === "hard-margin" && !error.gone;
    // A remedy in the message, which names an option of the command line, is removed; the page has a button for it.
    const message = error.message.replace(/^the points: /, "").replace(/ \([^()]*--[^()]*\)$/, ".");
    showNotice(message, {
      kind: "error",
      actions: error.gone ? [["try again", fit]] : soft ? [["use the soft margin", () => change({ method: "svm" })]] : [],
    });
    if (soft) scene.proof = true;
    finishRun();
  } finally {
    clearTimeout(busy);
    find("busy").hidden = true;
  }
  prove();
  ownLine.judge(scene);
}

/** A notice about data that are missing for a fit; null if nothing is missing. */
function missingData() {
  const size = scenes.size(scene);
  if (scene.lost) return [`The link was made for ${count(scene.lost)} points of a file, which are too many for a link: drop the file here again.`, {}];
  if (scene.refused) return [scene.refused, { kind: "error" }];
  if (size === 0) return ["No points yet. Click in the plane to add some, spray them, or take some from the data menu.", {}];
  if (isRegression()) return size < 2 ? ["A line needs two points. Click to add another.", {}] : null;
  const present = new Set(scene.points.c).size;
  if (present < 2) {
    const other = scene.classes.findIndex((_, code) => !scene.points.c.includes(code));
    return [`All points are of class ${scene.classes[scene.points.c[0]]}. Choose another class and add a point of it.`,
      { actions: [[`draw class ${scene.classes[other] ?? "B"}`, () => tools.pick(Math.max(1, other))]] }];
  }
  const { two, label } = method(scene.method);
  if (two && present > 2) return [`For two classes only: ${label}. There are ${present}.`, { actions: [["use softmax", () => change({ method: "softmax" })]] }];
  return null;
}

/** Requests the proof of separability or inseparability if it is shown. */
async function prove() {
  find("prove").setAttribute("aria-pressed", String(scene.proof));
  if (!scene.proof || isRegression() || new Set(scene.points.c).size < 2) {
    run.verdict = null;
    showVerdict([]);
    drawFrame(timeline.now);
    return;
  }
  try {
    const found = await separating("separate", { data: scenes.data(scene) });
    if (!found) return;
    run.verdict = found;
    showVerdict(verdict(found, codes().map((code) => scene.classes[code])));
    drawFrame(timeline.now);
  } catch (error) {
    showVerdict([error.message]);
  }
}

/** Updates the contours and the comparison, which take longer than a fit, after the last change. */
const follow = debounced(() => {
  drawSurface(scene, run.fit, run.frames).then(() => markSurface(timeline.now));
  if (!find("compare").hidden && !isRegression()) comparing();
}, 150);

/** Loads the frames of a finished run. */
function finishRun() {
  timeline.load(Math.max(1, run.frames.length), scene.step);
  const shown = run.fit && run.frames.length ? claim(run.fit, run.frames.at(-1), scene) : null;
  drawCharts(run.frames, shown?.bound);
  markStep(timeline.now);
  follow();
  document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
}

// Drawing.

function drawFrame(step) {
  for (const id of ["prove", "own-button", "compare-button"]) find(id).disabled = isRegression();
  drawPicture(plane, { scene, run, step, codes: codes(), regression: isRegression() });
  drawLosses(scene, run.frames[Math.min(step, run.frames.length - 1)], codes());
  ownLine.show(scene);
  for (const button of find("claim-sentence").querySelectorAll('[data-do="prove"]')) button.onclick = () => toggleProof(true);
}

const timeline = new Timeline((step) => {
  drawFrame(step);
  markStep(step);
  markSurface(step);
}, () => {
  scene.step = timeline.atEnd ? null : timeline.now;
  remember();
});

// Changes of method, settings, layers.

function change({ method: name, setting, value, seed, sliding = false }) {
  if (name) {
    scene.method = name;
    const keep = ["C", "penalty", "no_intercept", "epochs"].filter((key) => method(name).settings.some((one) => one.name === key && (!one.choices || one.choices.includes(scene.settings[key]))));
    scene.settings = Object.fromEntries(keep.filter((key) => scene.settings[key] !== undefined && key !== "epochs").map((key) => [key, scene.settings[key]]));
  }
  if (setting) {
    if (value === undefined) delete scene.settings[setting];
    else scene.settings[setting] = value;
  }
  if (seed !== undefined) scene.seed = seed;
  scene.step = null;
  if (!sliding) showSettings(scene, change);
  refit();
  settle();
}

function toggleProof(wanted = !scene.proof) {
  scene.proof = wanted;
  prove();
  settle();
}

const comparing = () => compare(scene, plane.view);

// The address, lessons, sharing.

/** Stores the scene in the address; a link that could not be opened stays unchanged. */
const remember = () => scene.refused || history.replaceState(null, "", `#${scenes.toHash(scene)}`);

/** Updates the address after the last change. */
const settle = debounced(() => {
  remember();
  tools.showClasses(scene.classes, moreClasses);
  if (scene.line) ownLine.seek(scene);
}, 120);

function moreClasses() {
  scene.classes = [...scene.classes, "ABCDE"[scene.classes.length]];
  tools.showClasses(scene.classes, moreClasses);
  tools.pick(scene.classes.length - 1);
}

/** Shows a new scene. */
function showScene() {
  showSettings(scene, change);
  dataMenu.show(scene);
  tools.showClasses(scene.classes, moreClasses);
  showLesson();
  remember();
  run = { fit: null, frames: [], verdict: null };
  fit();
  if (scene.line) ownLine.seek(scene);
}

/** Opens the scene of an address. */
function open(hash) {
  const name = new URLSearchParams(hash.replace(/^#/, "")).get("lesson");
  const base = lesson(name) ? scenes.fromHash(lesson(name).scene) : scenes.empty();
  const wanted = hash.length > 1 ? scenes.fromHash(hash, base) : scenes.fromHash(`lesson=${LESSONS[1].id}`, scenes.fromHash(LESSONS[1].scene));
  undoHistory.forget();
  const { data, ...rest } = wanted;
  if (data.kind === "set" || data.kind === "make") {
    const { points: _points, classes: _classes, axes: _axes, ...others } = rest;
    dataMenu.load(data, others);
    return;
  }
  scene = { ...scenes.empty(), ...wanted, columns: [], real: false };
  plane.lookAt(scene.points);
  showScene();
}

function openLesson(id) {
  const found = lesson(id);
  open(found ? `#lesson=${id}&${found.scene}` : "#method=logistic&points=");
}

function showLesson() {
  const found = lesson(scene.lesson);
  find("lesson").value = found?.id ?? "";
  find("lesson-text").hidden = !found;
  if (!found) return;
  const at = LESSONS.indexOf(found);
  find("lesson-title").textContent = `${at + 1}. ${found.title}`;
  find("lesson-sentences").replaceChildren(...found.text.map((sentence) => h("p", {}, sentence)));
  find("lesson-back").disabled = at === 0;
  find("lesson-next").disabled = at === LESSONS.length - 1;
}

const stepLesson = (by) => openLesson(LESSONS[LESSONS.findIndex((one) => one.id === scene.lesson) + by]?.id);

function announce(text) {
  find("announce").textContent = text;
}

async function copy(text, message) {
  try {
    await navigator.clipboard.writeText(text);
    announce(message);
    find("copied").textContent = message;
  } catch {
    find("copied").textContent = "The browser does not allow the page to copy: select the text and copy it.";
  }
  setTimeout(() => { find("copied").textContent = ""; }, 2500);
}

function showCommand() {
  find("shell").textContent = shell(scene);
  const lines = python(scene);
  find("python").textContent = lines ?? "The Python package has no estimator for this method.";
  URL.revokeObjectURL(find("csv").href);
  find("csv").href = URL.createObjectURL(new Blob([csv(scene)], { type: "text/csv" }));
  find("command").showModal();
}

function start() {
  chooseTheme(() => drawFrame(timeline.now));
  buildMenu(change);
  buildChoice(comparing);
  tools.choose("add");
  find("lesson").append(...LESSONS.map((one, i) => h("option", { value: one.id }, `${i + 1}. ${one.title}`)));
  const clicks = {
    "lesson-back": () => stepLesson(-1),
    "lesson-next": () => stepLesson(1),
    "lesson-close": () => { scene.lesson = null; showLesson(); remember(); },
    undo: () => { if (undoHistory.undo(scene)) { scene.step = null; plane.holds(scene.points) || plane.lookAt(scene.points); showScene(); } },
    clear: () => dataMenu.choose("empty:"),
    fitview: () => { plane.lookAt(scene.points); fit(); },
    prove: () => toggleProof(),
    "own-button": () => ownLine.toggle(scene, run.frames[timeline.now]?.planes),
    "compare-button": () => { if (find("compare").hidden) comparing(); else find("compare").hidden = true; find("compare-button").setAttribute("aria-expanded", String(!find("compare").hidden)); },
    cancel: () => { fitting.cancel(); announce("The fit is cancelled."); },
    share: () => copy(location.href, scenes.size(scene) > scenes.LONGEST_LINK && scene.data.kind !== "make" && scene.data.kind !== "set" ? "Copied, without the points: they are too many for a link." : "The link is copied."),
    "command-button": showCommand,
    "copy-shell": () => copy(find("shell").textContent, "The command is copied."),
    "copy-python": () => copy(find("python").textContent, "The code is copied."),
    "command-close": () => find("command").close(),
  };
  for (const [id, act] of Object.entries(clicks)) find(id).addEventListener("click", act);
  find("lesson").addEventListener("change", () => openLesson(find("lesson").value));
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.closest("input, textarea")) {
      event.preventDefault();
      find("undo").click();
    }
  });
  window.addEventListener("hashchange", () => { if (location.hash.slice(1) !== scenes.toHash(scene)) open(location.hash); });
  dataMenu.list().then(() => dataMenu.show(scene)).catch(() => null);
  open(location.hash);
}

start();
