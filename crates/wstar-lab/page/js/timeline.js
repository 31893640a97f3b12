// The slider of steps, with the buttons forward, back, play and pause. It never starts to play by itself.

import { find } from "./dom.js";

const ICONS = { play: "M4 2v12l9-6z", pause: "M3 2h3.5v12H3zM9.5 2H13v12H9.5z" };
const SPEEDS = { slow: 900, normal: 350, fast: 90 };

export class Timeline {
  /** `show` draws a step; `settled` is called when the user has chosen a step or playing has ended. */
  constructor(show, settled) {
    this.steps = 1;
    this.now = 0;
    this.timer = null;
    this.show = show;
    this.settled = settled;
    find("first").addEventListener("click", () => this.go(0));
    find("back").addEventListener("click", () => this.go(this.now - 1));
    find("play").addEventListener("click", () => this.toggle());
    find("forward").addEventListener("click", () => this.go(this.now + 1));
    find("last").addEventListener("click", () => this.go(this.steps - 1));
    find("scrub").addEventListener("input", () => this.go(Number(find("scrub").value)));
  }

  /** Loads a run with this number of steps, and shows the step `at`, by default the last one. */
  load(steps, at = null) {
    this.pause();
    this.steps = steps;
    this.now = at === null ? steps - 1 : Math.min(at, steps - 1);
    const scrub = find("scrub");
    scrub.max = steps - 1;
    find("timeline").classList.toggle("still", steps < 2);
    for (const button of ["first", "back", "play", "forward", "last", "scrub"]) find(button).disabled = steps < 2;
    this.draw();
  }

  /** Whether the last step is shown. */
  get atEnd() {
    return this.now >= this.steps - 1;
  }

  go(step) {
    this.pause();
    this.move(step);
    this.settled();
  }

  move(step) {
    this.now = Math.max(0, Math.min(this.steps - 1, step));
    this.draw();
  }

  draw() {
    const scrub = find("scrub");
    scrub.value = this.now;
    scrub.setAttribute("aria-valuetext", `step ${this.now} of ${this.steps - 1}`);
    find("step").textContent = this.steps < 2 ? "no steps: solved at once" : `step ${this.now} of ${this.steps - 1}`;
    this.show(this.now);
  }

  toggle() {
    if (this.timer) {
      this.pause();
      this.settled();
      return;
    }
    if (this.atEnd) this.move(0);
    this.showIcon("pause");
    const pace = () => SPEEDS[find("speed").value] ?? SPEEDS.normal;
    // A long run skips steps, so that it plays for at most about a minute.
    const stride = () => Math.max(1, Math.round((this.steps * pace()) / 60000));
    const tick = () => {
      this.move(this.now + stride());
      if (this.atEnd) {
        this.pause();
        this.settled();
      } else this.timer = setTimeout(tick, pace());
    };
    this.timer = setTimeout(tick, pace());
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.showIcon("play");
  }

  showIcon(name) {
    find("play").setAttribute("aria-label", name);
    find("play").querySelector("path").setAttribute("d", ICONS[name]);
  }
}
