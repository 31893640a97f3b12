// The data menu: data sets of the engine, recipes, and files that the user drops or chooses.

import { Refused, ask, latest, sets } from "./ask.js";
import { find, h } from "./dom.js";
import * as scenes from "./scene.js";

const RECIPES = [
  ["separable", "separable, with a margin"], ["overlap", "two overlapping clouds"], ["xor", "exclusive or"],
  ["rings", "a disc in a ring"], ["outliers", "outliers of one class"], ["three", "three clouds"], ["line", "points near a line (regression)"],
];

export class DataMenu {
  /** `use` receives new points; `refuse` receives the error if there are no points. */
  constructor({ use, refuse }) {
    Object.assign(this, { use, refuse });
    this.loading = latest();
    this.file = null;
    find("recipes").append(...RECIPES.map(([kind, label]) => h("option", { value: `make:${kind}` }, label)));
    find("data").addEventListener("change", () => this.choose(find("data").value));
    find("file").addEventListener("change", () => this.drop(find("file").files[0]));
    for (const name of ["rows", "margin", "spread", "data-seed"]) find(name).addEventListener("change", () => this.remake());
    for (const name of ["first-column", "second-column"]) find(name).addEventListener("change", () => this.pick());
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.drop(event.dataTransfer.files[0]);
    });
  }

  /** Lists the data sets of the engine. */
  async list() {
    const known = await sets();
    find("sets").append(...known.map(({ name, rows, description }) => h("option", { value: `set:${name}`, title: description }, `@${name} (${rows} rows)`)));
  }

  choose(value) {
    const [kind, name] = value.split(":");
    if (kind === "set") this.load({ kind: "set", name, columns: null });
    if (kind === "make") {
      const own = this.recipe();
      this.load({ kind: "make", recipe: scenes.recipe(name, own.rows, own.seed, own.margin, own.spread) });
    }
    if (kind === "file") find("file").click();
    if (kind === "empty") this.use({ data: { kind: "points" }, points: { x: [], y: [], c: [] }, classes: ["A", "B"], axes: ["x₁", "x₂"], columns: [], real: false });
  }

  recipe() {
    const number = (name) => (find(name).value === "" ? undefined : Number(find(name).value));
    return { rows: number("rows"), margin: number("margin"), spread: number("spread"), seed: number("data-seed") };
  }

  remake() {
    const [kind, name] = find("data").value.split(":");
    if (kind === "make") this.choose(`make:${name}`);
  }

  pick() {
    const columns = [find("first-column").value, find("second-column").value];
    if (this.current?.kind === "set") this.load({ ...this.current, columns });
    if (this.current?.kind === "file" && this.file) this.read(columns);
  }

  /** Requests the points of a description. `rest` is the remainder of a scene that is being opened. */
  async load(data, rest = null) {
    const body = data.kind === "set" ? { set: { name: data.name, columns: data.columns } } : { make: data.recipe };
    try {
      if (data.kind === "make" && !RECIPES.some(([kind]) => kind === data.recipe.kind)) throw new Refused(`There is no recipe for points called “${data.recipe.kind}”.`);
      const found = await this.loading("data", body);
      if (found) this.use({ ...this.points(found, data), rest });
    } catch (error) {
      this.refuse(error, { rest });
    }
  }

  async drop(file) {
    if (!file) return;
    this.file = { name: file.name, bytes: await file.arrayBuffer() };
    await this.read(null);
    find("file").value = "";
  }

  async read(columns) {
    const { name, bytes } = this.file;
    const words = new URLSearchParams({ name, ...(columns ? { first: columns[0], second: columns[1] } : {}) });
    try {
      const found = await ask(`read?${words}`, bytes);
      this.use(this.points(found, { kind: "file", name }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(error, { file: true });
    }
  }

  points({ x, y, class: c, classes, axes, columns, real, notes }, data) {
    const plain = data.kind === "make";
    const own = data.kind === "set" ? { ...data, columns: real ? [axes[0], axes[0]] : axes } : data;
    return { data: own, points: { x, y, c }, classes, axes: plain ? ["x₁", "x₂"] : axes, columns, real, notes };
  }

  /** Shows the source of the scene's points. */
  show(scene) {
    const { kind, name, recipe } = scene.data;
    this.current = scene.data;
    find("data").value = kind === "set" ? `set:${name}` : kind === "make" ? `make:${recipe.kind}` : kind === "file" ? "file:" : "points:";
    find("recipe").hidden = kind !== "make";
    if (kind === "make") {
      find("rows").value = recipe.rows;
      find("margin").value = recipe.margin;
      find("spread").value = recipe.spread;
      find("data-seed").value = recipe.seed;
      find("margin").closest("label").hidden = recipe.kind !== "separable";
    }
    const choosable = (kind === "set" || kind === "file") && (scene.columns?.length ?? 0) > (scene.real ? 1 : 2);
    find("columns").hidden = !choosable;
    if (!choosable) return;
    for (const [i, id] of ["first-column", "second-column"].entries()) {
      find(id).replaceChildren(...scene.columns.map((column) => h("option", { value: column, selected: column === scene.axes[i] }, column)));
    }
    find("second-column").hidden = scene.real;
  }
}
