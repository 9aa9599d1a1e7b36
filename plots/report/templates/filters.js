// Filters by data set, method, protocol, scale and text: what does not match is hidden, in every section.
const KEYS = ["dataset", "method", "protocol", "scale"];
const OTHER = "\u0000";  // values that only published rows have: one choice

function prepareFilters() {
  const form = document.getElementById("filters"), find = document.getElementById("find");
  const items = [...document.querySelectorAll("main [data-dataset], main [data-method], main [data-protocol], main [data-scale]")];
  const holders = [...document.querySelectorAll("main .holder")].reverse();  // inner ones first
  const offered = {}, boxes = {};
  for (const filter of form.querySelectorAll(".filter")) {
    const key = filter.dataset.key;
    offered[key] = new Set([...filter.querySelectorAll("input")].map((box) => box.value));
    if (items.some((item) => item.dataset[key] !== undefined && !offered[key].has(item.dataset[key]))) {
      const box = element("input", { type: "checkbox", value: OTHER, checked: "" });
      filter.querySelector("fieldset").append(element("label", {}, box, " published only"));
    }
    boxes[key] = [...filter.querySelectorAll("input")];
    for (const button of filter.querySelectorAll("[data-all]")) {
      button.addEventListener("click", () => {
        for (const box of boxes[key]) box.checked = button.dataset.all === "on";
        apply();
      });
    }
  }

  function apply() {
    const chosen = {};
    for (const key of KEYS) {
      chosen[key] = new Set(boxes[key].filter((box) => box.checked).map((box) => box.value));
      const all = chosen[key].size === boxes[key].length, filter = boxes[key][0]?.closest(".filter");
      if (!filter) continue;
      filter.querySelector(".state").textContent = all ? "all" : `${chosen[key].size} of ${boxes[key].length}`;
      filter.classList.toggle("on", !all);
    }
    const words = find.value.trim().toLowerCase();
    const fits = (item) => KEYS.every((key) => {
      const value = item.dataset[key];
      return value === undefined || !boxes[key].length || chosen[key].has(offered[key].has(value) ? value : OTHER);
    }) && (!words || !item.classList.contains("row") || item.textContent.toLowerCase().includes(words));
    let rows = 0, shown = 0;
    for (const item of items) {
      item.hidden = !fits(item);
      if (item.matches("tr.row")) { rows += 1; shown += !item.hidden; }
    }
    for (const holder of holders) {
      const inside = [...holder.querySelectorAll(".row")];
      if (inside.length) holder.hidden = inside.every((row) => row.hidden) || (holder.dataset.scale !== undefined && !fits(holder));
    }
    document.getElementById("shown").textContent = shown === rows ? `${rows} rows` : `${shown} of ${rows} rows`;
    remember();
  }

  // Reloading while a study runs must not lose the choice; a browser without storage just forgets it.
  function remember() {
    const state = { find: find.value };
    for (const key of KEYS) state[key] = boxes[key].filter((box) => !box.checked).map((box) => box.value);
    try { sessionStorage.setItem("filters", JSON.stringify(state)); } catch { /* private window */ }
  }

  function recall() {
    try {
      const state = JSON.parse(sessionStorage.getItem("filters"));
      find.value = state.find;
      for (const key of KEYS) for (const box of boxes[key]) box.checked = !state[key].includes(box.value);
    } catch { /* nothing to recall */ }
  }

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.addEventListener("click", (event) => {
    for (const open of form.querySelectorAll(".filter[open]")) if (!open.contains(event.target)) open.open = false;
  });
  form.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && event.target.closest(".filter[open]");
    if (open) { open.open = false; open.querySelector("summary").focus(); }
  });
  recall();
  apply();
}
