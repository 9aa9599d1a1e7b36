// Pictures of tuning, drawn when a method is opened; dialogs, printing, start.
function tuningPicture(one) {
  const about = stored("about"), colour = about.looks[one.method] || "#777", best = new Map();
  const seen = one.points.filter(([, score]) => score !== null);
  for (const [lr, score] of seen) best.set(lr, Math.max(best.get(lr) ?? -Infinity, score));
  const line = { points: [...best].sort((a, b) => a[0] - b[0]).map(([lr, score]) => [lr, 100 * score]), colour };
  const told = ([lr, score, , tuned, status]) => `lr ${plain(lr)}${tuned === "{}" ? "" : ` ${tuned}`}: ${score === null ? status : percent(score)}`;
  const svg = chart({
    lines: [line, ...seen.map(([lr, score]) => ({ points: [[lr, 100 * score]], colour, marks: true }))],
    stars: seen.filter((point) => point[2]).map((point) => ({ x: point[0], y: 100 * point[1], colour, title: `chosen: ${told(point)}` })),
    crosses: one.points.filter(([, score]) => score === null).map((point) => ({ x: point[0], title: told(point) })),
    x: "learning rate", y: "score (%)", log: true, label: `Score against learning rate: ${one.points.map(told).join("; ")}`,
  });
  const button = element("button", { type: "button" }, `${one.points.length} trials`);
  const place = [about.titles[one.dataset] || one.dataset, `protocol ${one.protocol}`, one.variant].filter(Boolean);
  const title = [about.titles[one.method] || one.method, "tuning", one.study, ...place].join(", ");
  button.addEventListener("click", () => openRuns(one.group, title, ""));
  const made = element("figure", {}, svg, element("figcaption", {}, `${[one.study, one.scale, ...place].join(" · ")} `, button));
  for (const key of KEYS) made.dataset[key] = one[key];
  return made;
}

function drawTuning(details) {
  const place = details.querySelector(".tuning");
  if (!place || place.childElementCount) return;
  const mine = stored("tuning").filter((one) => one.method === details.dataset.page);
  const legend = "Dots: trials; line: the best at each rate; ring: chosen; ✕: diverged or failed.";
  place.append(element("p", { class: "muted" }, mine.length ? legend : "Not tuned in any study on this page."), ...mine.map(tuningPicture));
}

for (const details of document.querySelectorAll(".method")) {
  details.addEventListener("toggle", () => details.open && drawTuning(details));
}
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
// A link to a method or to a table that is folded away opens it.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details.print:not([open]), .method:not([open])")) {
    details.open = true;
    details.dataset.folded = "";
    if (details.matches(".method")) drawTuning(details);
  }
});
addEventListener("afterprint", () => {
  for (const details of document.querySelectorAll("[data-folded]")) {
    details.open = false;
    delete details.dataset.folded;
  }
});
prepareTables();
prepareRetrieval();
prepareFilters();
reveal();
