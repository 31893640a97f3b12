// Writes the licences of all bundled modules next to the bundle.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const bundled = readdirSync("node_modules").filter((name) => name.startsWith("d3-") || name === "internmap").sort();
const texts = bundled.map((name) => {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = ["LICENSE", "LICENSE.md"].map((one) => `${folder}/${one}`).find((one) => existsSync(one));
  return `${name} ${version}\n\n${readFileSync(file, "utf8").trim()}\n`;
});
writeFileSync("../page/vendor/LICENCES.txt", texts.join(`\n${"-".repeat(72)}\n\n`));
