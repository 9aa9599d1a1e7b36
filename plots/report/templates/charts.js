// Small line charts as SVG: curves of runs, scores against learning rates.
const SVG = "http://www.w3.org/2000/svg";

function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}

const toned = (colour) => `oklch(from ${colour} max(l, var(--lift)) c h)`;  // light enough for a dark page
const finite = ([a, b]) => Number.isFinite(a) && Number.isFinite(b);

// Round steps that divide a range into about so many parts.
function ticks(low, high, about) {
  const raw = (high - low) / about || 1, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((n) => n * size >= raw) * size;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

function powers(low, high) {
  const found = [];
  for (let n = Math.floor(Math.log10(low)); n <= Math.ceil(Math.log10(high)); n++) {
    if (10 ** n >= low * 0.999 && 10 ** n <= high * 1.001) found.push(10 ** n);
  }
  return found;
}

const plain = (value) => (Math.abs(value) >= 1000 || (value && Math.abs(value) < 0.01)
  ? value.toExponential(0) : String(Number(value.toPrecision(3))));

// lines: [{points: [[x, y], …], colour, dash, marks: bool, title}], stars and crosses: [{x, y, colour, title}]
function chart({ lines, stars = [], crosses = [], x, y, label, log = false, width = 270, height = 165 }) {
  const left = 40, right = 8, top = 18, bottom = 30;
  const all = [...lines.flatMap((line) => line.points), ...stars.map((s) => [s.x, s.y])].filter(finite);
  const xs = [...all.map((p) => p[0]), ...crosses.map((c) => c.x)], ys = all.map((p) => p[1]);
  let [x0, x1] = [Math.min(...xs), Math.max(...xs)], [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  if (!ys.length) [y0, y1] = [0, 1];
  if (x0 === x1) [x0, x1] = log ? [x0 / 2, x1 * 2] : [x0 - 1, x1 + 1];
  const pad = 0.06 * (y1 - y0) || 0.5;
  [y0, y1] = [y0 - pad, y1 + pad];
  const scale = log ? Math.log10 : (v) => v;
  const px = (v) => left + ((scale(v) - scale(x0)) / (scale(x1) - scale(x0))) * (width - left - right);
  const py = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = shape(null, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  for (const at of ticks(y0, y1, 4)) {
    shape(svg, "line", { x1: left, x2: width - right, y1: py(at), y2: py(at), class: "grid" });
    shape(svg, "text", { x: left - 4, y: py(at) + 4, "text-anchor": "end" }, plain(at));
  }
  for (const at of log ? powers(x0, x1) : ticks(x0, x1, 5)) {
    shape(svg, "text", { x: px(at), y: height - bottom + 13, "text-anchor": "middle" }, log ? at.toExponential(0) : plain(at));
    shape(svg, "line", { x1: px(at), x2: px(at), y1: height - bottom, y2: height - bottom + 3, class: "axis" });
  }
  shape(svg, "line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" });
  shape(svg, "text", { x: width - right, y: height - 3, "text-anchor": "end" }, x);
  shape(svg, "text", { x: 2, y: 11 }, y);
  for (const line of lines) {
    const points = line.points.filter(finite), at = points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" ");
    const path = shape(svg, "polyline", { points: at, class: "line", style: `stroke:${toned(line.colour)}`, "stroke-dasharray": line.dash || "none" });
    if (line.title) shape(path, "title", {}, line.title);
    for (const [a, b] of line.marks ? points : []) shape(svg, "circle", { cx: px(a), cy: py(b), r: 2.2, style: `fill:${toned(line.colour)}` });
  }
  for (const one of stars) {
    const ring = shape(svg, "circle", { cx: px(one.x), cy: py(one.y), r: 6, fill: "none", "stroke-width": 2, style: `stroke:${toned(one.colour)}` });
    shape(ring, "title", {}, one.title);
  }
  for (const one of crosses) {
    const cross = shape(svg, "text", { x: px(one.x), y: height - bottom - 3, "text-anchor": "middle" }, "✕");
    shape(cross, "title", {}, one.title);
  }
  return svg;
}
