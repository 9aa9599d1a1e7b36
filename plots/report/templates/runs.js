// The dialog of a cell: its runs with seeds, curves, spec and the command that does each again.
const parsed = {};
function stored(name) {
  parsed[name] ??= JSON.parse(document.getElementById(`data-${name}`).textContent);
  return parsed[name];
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function tell(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.add("on");
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => status.classList.remove("on"), 2500);
}

// Copies, or where the browser does not allow it shows the text to be copied by hand.
async function copy(text, name) {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${name} copied`);
  } catch {
    const dialog = document.getElementById("source");
    dialog.querySelector("h2").textContent = name;
    const area = dialog.querySelector("textarea");
    area.value = text;
    dialog.showModal();
    area.select();
  }
}

const shownValue = (value) => (value === null ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value));
const percent = (value) => (Number.isFinite(value) ? (100 * value).toFixed(2) : "");

function specOf(run) {
  return run.spec ? { ...stored("runs").usual, ...run.spec } : {};
}

// Fields that all runs of the group share, apart from those that differ.
function divided(runs) {
  const specs = runs.filter((run) => run.spec).map(specOf);
  const names = [...new Set(specs.flatMap((spec) => Object.keys(spec)))];
  const same = names.filter((name) => specs.every((spec) => JSON.stringify(spec[name]) === JSON.stringify(specs[0][name])));
  return { same, differing: names.filter((name) => !same.includes(name) && name !== "seed"), first: specs[0] || {} };
}

function runBlock(run, metric, differing) {
  const about = stored("about"), spec = specOf(run), line = element("p");
  const place = stored("runs").metrics.indexOf(metric);
  const value = run.metrics && place >= 0 ? run.metrics[place] : undefined;
  const facts = [spec.seed === undefined ? "" : `seed ${spec.seed}`];
  if (value !== undefined && value !== null) facts.push(`${metric} ${percent(value)}`);
  else if (run.score !== undefined) facts.push(`score ${percent(run.score)}`);
  for (const name of differing) if (spec[name] !== undefined) facts.push(`${name.replace("params.", "")} ${shownValue(spec[name])}`);
  if (run.epoch !== undefined && run.status === "ok") facts.push(`epoch ${run.epoch}`);
  if (run.seconds !== undefined) facts.push(`${run.seconds} s`);
  if (run.commit) facts.push(`commit ${run.commit}${run.dirty ? " (changed since)" : ""}`);
  line.append(...facts.filter(Boolean).map((fact) => element("span", {}, fact)));
  if (run.status !== "ok") line.prepend(element("span", { class: "bad" }, run.status.replaceAll("_", " ")));
  const block = element("div", { class: "run" }, line);
  if (run.status === "missing") {
    line.append(element("span", {}, `run ${run.id} is named by the study and has not been done`));
    return block;
  }
  const command = `${about.command} ${run.id}${about.options}`;
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => copy(command, "Command"));
  block.append(element("div", { class: "command" }, element("code", {}, command), button));
  if (run.error) block.append(element("pre", {}, run.error));
  return block;
}

function curves(runs, colour) {
  const parts = [], drawn = runs.filter((run) => run.curve && run.curve.epoch);
  const lines = (name, dash) => drawn.filter((run) => run.curve[name]).map((run) => ({
    points: run.curve.epoch.map((epoch, i) => [epoch, run.curve[name][i] === null ? NaN : run.curve[name][i] * (name === "loss" ? 1 : 100)]),
    colour, dash, title: `${name}, seed ${specOf(run).seed}`,
  }));
  const judged = [...lines("test/R@1", ""), ...lines("val/R@1", "")];
  const scores = [...judged, ...lines("train/R@1", "4 3")];
  const kind = drawn.some((run) => run.curve["val/R@1"]) ? "validation" : "test";
  if (scores.length) parts.push(chart({ lines: scores, x: "epoch", y: `R@1 (%): ${kind} —, train - -`, label: `R@1 over epochs, ${scores.length} lines` }));
  const losses = lines("loss", "");
  if (losses.length) parts.push(chart({ lines: losses, x: "epoch", y: "loss", label: "Training loss over epochs" }));
  return element("div", { class: "charts" }, ...parts);
}

function openRuns(group, title, metric) {
  const data = stored("runs"), about = stored("about");
  const runs = data.groups[group].map((place) => data.runs[place]);
  const dialog = document.getElementById("runs"), body = dialog.querySelector(".body");
  const { same, differing, first } = divided(runs);
  dialog.querySelector("h2").textContent = title;
  const spec = element("dl", { class: "spec" }, ...same.map((name) => element("div", {}, element("dt", {}, name), element("dd", {}, shownValue(first[name])))));
  const colour = about.looks[first.method] || "#777";
  body.replaceChildren(
    curves(runs, colour),
    ...runs.map((run) => runBlock(run, metric, differing)),
    element("details", { open: "" }, element("summary", {}, `Spec: ${same.length} fields that these runs share`), spec),
  );
  dialog.showModal();
  body.focus({ preventScroll: true });
  dialog.scrollTop = 0;
}
