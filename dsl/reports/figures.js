// Pictures: the units' times, the roofline, shared memory over time, layouts.

const LABELS = {
  memory: "device memory", cache: "cache", matrix: "matrix units", issue: "instruction issue",
  shared: "shared memory", special: "special functions", latency: "latency of blocks", launch: "launch",
};

function bars(prediction) {
  const rows = Object.entries(prediction.terms).filter(([, s]) => s > 0).map(([n, s]) => [LABELS[n] || n, s, ""]);
  rows.unshift(["predicted", prediction.seconds, ""], ["roofline", prediction.floor, "floor"]);
  const most = Math.max(...rows.map((r) => r[1]));
  const box = make("div", { class: "bars", role: "img", "aria-label": "predicted times of units" });
  for (const [name, seconds, kind] of rows) {
    const bar = make("i", { class: kind });
    bar.style.width = `${(100 * seconds) / most}%`;
    box.append(make("span", {}, name), bar, make("span", { class: "n" }, time(seconds)));
  }
  return box;
}

// The bounds by bytes and by products over intensity; a point is a launch as it is predicted.
function roofline(targets) {
  const known = targets.filter((t) => t.prediction && t.prediction.bytes && t.prediction.seconds);
  if (!known.length) return make("p", { class: "none" }, "The rates of these machines are not known.");
  const width = 560, height = 320, left = 64, bottom = 40;
  const points = known.map((t) => {
    const p = t.prediction, work = Math.max(1, 2 * p.operations), bandwidth = p.floor_bytes ? p.bytes / p.floor_bytes : 0;
    const peak = p.floor_operations ? (2 * p.operations) / p.floor_operations : 0;
    return { name: t.target, at: work / p.bytes, rate: work / p.seconds, bandwidth, peak };
  });
  const flat = points.every((p) => p.at < 0.01);
  if (flat) return make("p", { class: "none" }, "There are no products: the time is bounded by bytes alone, " +
    known.map((t) => `${time(t.prediction.floor_bytes)} on ${t.target}`).join(", ") + ".");
  const ridges = points.map((p) => (p.peak && p.bandwidth ? p.peak / p.bandwidth : p.at));
  const xs = [...points.map((p) => p.at), ...ridges], ys = [...points.map((p) => p.rate), ...points.map((p) => p.peak).filter(Boolean)];
  const x0 = Math.floor(Math.log10(Math.min(...xs))) - 0.5, x1 = Math.ceil(Math.log10(Math.max(...xs))) + 0.5;
  const y0 = Math.floor(Math.log10(Math.min(...ys))) - 0.5, y1 = Math.ceil(Math.log10(Math.max(...ys))) + 0.2;
  const x = (v) => left + ((Math.log10(v) - x0) / (x1 - x0)) * (width - left - 10);
  const y = (v) => 10 + (1 - (Math.log10(v) - y0) / (y1 - y0)) * (height - bottom - 10);
  const svg = draw("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const label = (cx, cy, text, anchor, soft) => {
    const t = draw("text", { x: cx, y: cy, "text-anchor": anchor, class: soft ? "soft" : "" });
    t.textContent = text;
    svg.append(t);
  };
  for (let e = Math.ceil(x0); e <= x1; e += 1) {
    svg.append(draw("line", { class: "axis", x1: x(10 ** e), x2: x(10 ** e), y1: 10, y2: height - bottom }));
    label(x(10 ** e), height - bottom + 15, count(10 ** e), "middle", true);
  }
  for (let e = Math.ceil(y0); e <= y1; e += 1) {
    svg.append(draw("line", { class: "axis", x1: left, x2: width - 10, y1: y(10 ** e), y2: y(10 ** e) }));
    label(left - 6, y(10 ** e) + 4, count(10 ** e), "end", true);
  }
  label(width / 2, height - 6, "operations a byte of the tensors, moved once", "middle", true);
  label(left, 9, "operations a second", "start", true);
  points.forEach((p, i) => {
    if (p.bandwidth) {
      const ridge = p.peak ? p.peak / p.bandwidth : 10 ** x1, far = 10 ** x1, near = 10 ** x0;
      const path = [[near, near * p.bandwidth], [ridge, ridge * p.bandwidth], ...(p.peak ? [[far, p.peak]] : [])];
      const d = path.map(([a, b], n) => `${n ? "L" : "M"}${x(a)},${y(Math.max(b, 10 ** y0))}`).join("");
      const line = draw("path", { class: "roof", d });
      line.style.stroke = colourOf(i);
      svg.append(line);
    }
    const dot = draw("circle", { cx: x(p.at), cy: y(p.rate), r: 5 });
    dot.style.fill = colourOf(i);
    svg.append(dot);
    const end = x(p.at) > width * 0.7;
    label(x(p.at) + (end ? -9 : 9), y(p.rate) + 4, `${p.name}: ${count(p.rate)}op/s`, end ? "end" : "start");
  });
  return svg;
}
const colourOf = (i) => ["var(--accent)", "var(--bad)", "var(--good)", "var(--word)"][i % 4];

// Buffers as boxes: statements from left to right, bytes from the top.
function memoryPicture(plan) {
  const width = 760, height = 260, left = 74, top = 8, bottom = 34;
  const x = (n) => left + ((n - 1) / Math.max(1, plan.statements)) * (width - left - 8);
  const y = (b) => top + (b / plan.bytes) * (height - top - bottom);
  const svg = draw("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  svg.append(draw("rect", { class: "axis", x: left, y: top, width: width - left - 8, height: height - top - bottom, fill: "none" }));
  plan.buffers.forEach(([name, type, line, offset, size, start, end], i) => {
    const box = draw("rect", { x: x(start), y: y(offset), width: Math.max(2, x(end + 1) - x(start)), height: Math.max(2, y(offset + size) - y(offset)), rx: 3 });
    box.style.fill = colour(i);
    const title = draw("title");
    title.textContent = `${name}: ${type}, ${bytes(size)} at ${offset}, statements ${start} to ${end}${line ? `, line ${line}` : ""}`;
    box.append(title);
    svg.append(box);
    if (y(offset + size) - y(offset) > 13 && x(end + 1) - x(start) > 40) {
      const text = draw("text", { x: x(start) + 5, y: Math.min(y(offset) + 14, y(offset + size) - 3) });
      text.textContent = `${name} ${bytes(size)}`;
      svg.append(text);
    }
  });
  for (const [cx, cy, text, anchor] of [
    [left - 6, top + 10, "0 B", "end"], [left - 6, height - bottom, bytes(plan.bytes), "end"],
    [left, height - bottom + 15, "first statement", "start"], [width - 8, height - bottom + 15, `statement ${plan.statements}`, "end"],
  ]) {
    const t = draw("text", { x: cx, y: cy, "text-anchor": anchor, class: "soft" });
    t.textContent = text;
    svg.append(t);
  }
  return svg;
}

function layoutPicture(layout) {
  const rows = layout.cells.length, across = rows ? layout.cells[0].length : 0;
  const labelled = across <= 32, w = labelled ? 34 : 14, h = labelled ? 17 : 11, ratio = window.devicePixelRatio || 1;
  const canvas = make("canvas", { width: across * w * ratio, height: rows * h * ratio, role: "img", "aria-label": layout.text });
  canvas.style.width = `${across * w}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "10px ui-monospace, monospace";
  pen.textAlign = "center";
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  layout.cells.forEach((row, r) => row.forEach(([thread, number], c) => {
    pen.fillStyle = colour(layout.threads > 1 ? thread : number);
    pen.fillRect(c * w, r * h, w - 1, h - 1);
    if (labelled) {
      pen.fillStyle = ink;
      pen.fillText(layout.threads > 1 ? `${thread}:${number}` : `${number}`, c * w + w / 2, r * h + 12);
    }
  }));
  const shown = `${rows} x ${across}`, whole = layout.shape.join(" x ");
  return make("div", { class: "layout" },
    make("div", {}, make("code", {}, layout.text), ` ${layout.threads} threads, ${layout.locals} elements each` +
      (shown === whole ? "" : `; the first ${shown} of ${whole}`)),
    make("div", { class: "none" }, layout.tiles.map(([name, line]) => `${name}${line ? ` (line ${line})` : ""}`).join(", ")), canvas);
}
