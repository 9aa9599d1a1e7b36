// What two methods retrieved for the same queries, side by side; those first on which they differ most.
const SOME = 12;  // queries drawn at once
const GRADES = { right: "of its class", coarse: "of a coarser class of it", wrong: "of another class" };

function grade(of, query, index) {
  const [mine, theirs] = [of.labels[query], of.labels[index]];
  if (mine[0] === theirs[0]) return "right";
  return mine.slice(1).some((label, i) => label === theirs[i + 1]) ? "coarse" : "wrong";
}

// A thumbnail: a window onto the sprite of its data set, or the name of its class where there is none.
function tile(of, index, kind, words) {
  const name = of.names[of.labels[index][0]];
  const made = element("span", { class: `tile ${kind}`, role: "img", tabindex: "-1", "aria-label": `${name}${words}`, title: `${name}${words}` });
  const { sprites, across } = stored("retrieval"), sprite = sprites.find((one) => one.dataset === of.dataset);
  if (!sprite) {
    made.textContent = name;
    return made;
  }
  made.classList.add(`sprite-${sprites.indexOf(sprite)}`);
  const share = (place, count) => `${(100 * place) / Math.max(1, count - 1)}%`;
  made.style.backgroundPosition = `${share(index % across, across)} ${share(Math.floor(index / across), sprite.rows)}`;
  return made;
}

function strip(of, method, at) {
  const query = of.queries[at], list = element("ol", { class: "strip", "aria-label": `Nearest images by ${method.title}` });
  list.append(element("li", { class: "by" }, method.title));
  method.found[at].forEach((index, rank) => {
    const kind = grade(of, query, index);
    const words = `, ${GRADES[kind]}, place ${rank + 1}, similarity ${method.cosine[at][rank]}`;
    list.append(element("li", {}, tile(of, index, kind, words)));
  });
  list.querySelector(".tile")?.setAttribute("tabindex", "0");
  return list;
}

function prepareRetrieval() {
  const section = document.getElementById("retrieval");
  if (!section) return;
  const form = section.querySelector("form"), list = section.querySelector(".queries"), more = section.querySelector(".more");
  const { places, sprites, across } = stored("retrieval");
  // One rule a data set: the picture stands once in memory, however many tiles show a part of it.
  document.head.append(element("style", {}, sprites.map((one, i) => `.sprite-${i} { background-image: url("${one.picture}"); background-size: ${100 * across}% ${100 * one.rows}%; }`).join("\n")));
  const fill = (select, options, chosen) => select.replaceChildren(...options.map(([value, text]) => element("option", value === chosen ? { value, selected: "" } : { value }, text)));
  const chosen = () => {
    const of = places[form.place.value];
    return [of, ...[form.a, form.b].map((select) => of.methods.find((one) => one.name === select.value))];
  };
  let order = [], shown = 0;

  function choosePlace() {
    const of = places[form.place.value], names = of.methods.map((one) => [one.name, one.title]);
    const last = names.at(-1)[0], first = (names.find(([name]) => name !== last && name !== "untrained") || names[0])[0];
    fill(form.a, names, first);
    fill(form.b, names, last);
    const asked = [...new Set(of.queries.map((query) => of.labels[query][0]))].map((label) => [String(label), of.names[label]]);
    fill(form.class, [["", "all"], ...asked.sort((x, y) => x[1].localeCompare(y[1]))], "");
    draw();
  }

  function draw() {
    const [of, a, b] = chosen();
    const hits = (method, at) => method.found[at].reduce((sum, index, rank) => sum + (grade(of, of.queries[at], index) === "right") / (rank + 1), 0);
    order = of.queries.map((query, at) => [at, Math.abs(hits(a, at) - hits(b, at))])
      .filter(([at]) => !form.class.value || String(of.labels[of.queries[at]][0]) === form.class.value)
      .sort((x, y) => y[1] - x[1] || x[0] - y[0]);
    shown = 0;
    list.replaceChildren();
    show();
  }

  function show() {
    const [of, a, b] = chosen();
    for (const [at] of order.slice(shown, shown + SOME)) {
      const query = of.queries[at], asked = element("div", { class: "asked" }, tile(of, query, "", ", query"), ` ${of.names[of.labels[query][0]]}`);
      list.append(element("li", {}, asked, strip(of, a, at), strip(of, b, at)));
    }
    shown = Math.min(order.length, shown + SOME);
    more.hidden = shown >= order.length;
    section.querySelector("output").textContent = `${shown} of ${order.length} queries`;
  }

  form.addEventListener("change", (event) => (event.target === form.place ? choosePlace() : draw()));
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", show);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], from = event.target.closest(".strip .tile");
    const jump = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!from || (!step && !jump)) return;
    const mine = [...from.closest(".strip").querySelectorAll(".tile")], place = mine.indexOf(from);
    const strips = [...list.querySelectorAll(".strip")], row = strips.indexOf(from.closest(".strip"));
    const next = step ? mine[place + step] : strips[row + jump]?.querySelectorAll(".tile")[place];
    if (next) moveFocus(event, from, next);
  });
  choosePlace();
}
