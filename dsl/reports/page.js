// The page: kernels one after another, targets side by side in each of their parts.

const fileName = (path) => path.split("/").pop();
const sourceOf = (file) => DATA.sources.find((s) => s.file === file);

function facts(targets) {
  const labels = [...new Set(targets.flatMap((t) => (t.facts || []).map((f) => f[0])))];
  const table = make("table", { class: "facts" });
  table.append(make("tr", {}, make("th", {}), targets.map((t) => make("th", {}, t.target))));
  const row = (label, texts) => table.append(make("tr", {}, make("td", {}, label), texts.map((t) => make("td", {}, ...t))));
  row("sizes", targets.map((t) => [t.sizes || ""]));
  if (targets.some((t) => t.choices)) row("choices", targets.map((t) => [t.choices || ""]));
  for (const label of labels) {
    row(label, targets.map((t) => (t.facts || []).filter((f) => f[0] === label).map((f) => make("div", {}, f[1]))));
  }
  return [table, ...targets.filter((t) => t.error).map((t) => make("pre", { class: "error" }, `${t.target}\n${t.error}`))];
}

// Lines of the files that have costs: of the first all of the kernel's, of others those that count.
function sourceTable(kernel) {
  const box = make("div");
  const targets = kernel.targets.filter((t) => !t.error);
  const files = [...new Set([kernel.place[0], ...targets.flatMap((t) => t.lines.map((l) => l[0]))])];
  for (const file of files) {
    const source = sourceOf(file);
    if (!source) continue;
    const costs = targets.map((t) => new Map(t.lines.filter((l) => l[0] === file).map((l) => [l[1], l])));
    const most = targets.map((t) => Math.max(0, ...t.lines.map((l) => l[2])));
    const numbers = [...new Set(costs.flatMap((c) => [...c.keys()]))].sort((a, b) => a - b);
    const first = file === kernel.place[0] ? Math.min(kernel.place[1], ...numbers) : Math.max(1, (numbers[0] || 1) - 2);
    const last = Math.min(source.lines.length, (numbers[numbers.length - 1] || first) + 1);
    const table = make("table", { class: "source code" });
    const heads = [make("th", {}), make("th", {}, fileName(file))];
    const alone = targets.length === 1; // beside others there is room for the time and the bytes
    for (const t of targets) {
      const names = alone ? ["time", "", "bytes", "operations", "registers", "shared"] : [t.target, "bytes"];
      heads.push(...names.map((name) => make("th", { class: "n" }, name)));
    }
    table.append(make("tr", {}, heads));
    for (let n = first; n <= last; n += 1) {
      const cells = costs.flatMap((c, i) => {
        const l = c.get(n);
        if (!l) return [make("td", { colspan: alone ? 6 : 2 })];
        const [, , seconds, unit, loaded, stored, operations, registers, shared, units] = l;
        const more = [...Object.entries(units).map(([u, s]) => `${u}: ${time(s)}`), operations && `${count(operations)} operations`,
          registers && `${registers} registers`, shared && `${bytes(shared)} of shared memory`].filter(Boolean).join("\n");
        const heat = make("td", { class: "n heat", title: more }, seconds ? time(seconds) : "");
        heat.style.setProperty("--share", `${most[i] ? (100 * seconds) / most[i] : 0}%`);
        const moved = make("td", { class: "n", title: more }, loaded + stored ? bytes(loaded + stored) : "");
        if (!alone) return [heat, moved];
        return [heat, make("td", { class: "none" }, unit), moved, make("td", { class: "n" }, operations ? count(operations) : ""),
          make("td", { class: "n" }, registers || ""), make("td", { class: "n" }, shared ? bytes(shared) : "")];
      });
      const has = costs.some((c) => c.has(n));
      table.append(make("tr", { class: has ? "has" : "", "data-place": `${file}:${n}`, tabindex: has ? 0 : undefined,
        onclick: () => choose(kernel, file, n), onkeydown: (e) => { if (e.key === "Enter") choose(kernel, file, n); } },
      make("td", { class: "number" }, String(n)), make("td", {}, ...tinted(source.lines[n - 1])), cells));
    }
    box.append(table);
  }
  box.append(make("p", { class: "keys" }, "Times are those of the busiest unit over one launch, by the model or a simulated run; " +
    "units overlap. Registers and shared memory are what is held while the line runs. A click shows the line's machine code."));
  return box;
}

// The lines of a text, each with the place that it is for.
function codeBox(kernel, text) {
  const box = make("div", { class: "code" });
  let at = 0;
  for (const [many, file, line] of text.runs) {
    for (let i = 0; i < many; i += 1, at += 1) {
      box.append(make("div", line ? { class: "for", "data-place": `${file}:${line}`, onclick: () => choose(kernel, file, line) } : {},
        make("span", { class: "at" }, line && i === 0 ? (file === kernel.place[0] ? String(line) : `${fileName(file).slice(0, 3)}:${line}`) : ""), text.lines[at]));
    }
  }
  if (text.out) box.append(make("div", { class: "skip" }, `${text.out} lines more are left out`));
  // What stands before the first line of the kernel is the same for most kernels.
  requestAnimationFrame(() => { const first = box.querySelector(".for"); if (first) box.scrollTop = first.offsetTop - box.offsetTop - 20; });
  return box;
}

function choose(kernel, file, line) {
  const box = kernel.element, place = `${file}:${line}`;
  kernel.codePart.open = true;
  kernel.codePart.fillNow();
  for (const inner of kernel.codePart.querySelectorAll("details")) if (inner.open) inner.fillNow();
  box.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen"));
  const found = [...box.querySelectorAll("[data-place]")].filter((e) => e.dataset.place === place);
  found.forEach((e) => e.classList.add("chosen"));
  const seen = new Set();
  for (const e of found) {
    const scroller = e.closest(".code");
    if (!scroller || e.tagName === "TR" || seen.has(scroller)) continue;
    seen.add(scroller);
    scroller.scrollTop = e.offsetTop - scroller.offsetTop - 60;
  }
  const row = found.find((e) => e.tagName === "TR");
  if (row && row.getBoundingClientRect().top < 60) row.scrollIntoView({ block: "center" });
}

function applied(lines, edits) {
  const after = [];
  let at = 0;
  for (const edit of edits) {
    if (typeof edit === "number") { after.push(...lines.slice(at, at + edit)); at += edit; }
    else { at += edit[0]; after.push(...edit[1]); }
  }
  return after;
}

const AROUND = 3; // lines beside a change
function difference(before, edits) {
  const box = make("div", { class: "code" });
  const line = (kind, text) => make("div", { class: kind }, text);
  let at = 0;
  edits.forEach((edit, i) => {
    if (typeof edit !== "number") {
      before.slice(at, at + edit[0]).forEach((t) => box.append(line("gone", t)));
      edit[1].forEach((t) => box.append(line("come", t)));
      at += edit[0];
      return;
    }
    const kept = before.slice(at, at + edit);
    const head = i === 0 ? 0 : AROUND, tail = i === edits.length - 1 ? 0 : AROUND;
    at += edit;
    if (kept.length <= head + tail + 1) { kept.forEach((t) => box.append(line("stay", t))); return; }
    kept.slice(0, head).forEach((t) => box.append(line("stay", t)));
    const middle = kept.slice(head, kept.length - tail);
    const skip = make("div", { class: "skip", onclick: () => skip.replaceWith(...middle.map((t) => line("stay", t))) },
      `${middle.length} lines that stay`);
    box.append(skip);
    if (tail) kept.slice(kept.length - tail).forEach((t) => box.append(line("stay", t)));
  });
  return box;
}

function stages(column, target) {
  let before = [];
  target.stages.forEach((stage, i) => {
    const from = before, after = applied(before, stage.edits);
    before = after;
    const gone = stage.edits.reduce((n, e) => n + (typeof e === "number" ? 0 : e[0]), 0);
    const come = stage.edits.reduce((n, e) => n + (typeof e === "number" ? 0 : e[1].length), 0);
    const changes = i === 0 ? `${after.length} lines` : gone || come ? "" : "no change";
    const about = make("span", {}, changes, gone || come ? make("span", {}, i ? [make("span", { class: "plus" }, `+${come} `),
      make("span", { class: "minus" }, `-${gone}`)] : "") : "", i ? ` ${stage.ms} ms` : "");
    const isSame = i > 0 && !gone && !come;
    const element = isSame
      ? make("div", { class: "same stage" }, `${i} ${stage.name} `, make("span", { class: "about" }, about))
      : part(`${i} ${stage.name}`, about, (inside) => {
        if (i === 0) inside.append(plain(after));
        else inside.append(difference(from, stage.edits), part("the whole text", "", (p) => p.append(plain(after))));
      });
    element.classList.add("stage");
    column.append(element);
  });
}
const plain = (lines) => make("div", { class: "code" }, lines.map((t) => make("div", {}, t)));

function kernelSection(kernel) {
  const targets = kernel.targets, ok = targets.filter((t) => !t.error);
  const box = make("section", { class: "kernel", id: `kernel-${kernel.name}` }, make("h2", {}, kernel.name),
    make("div", { class: "signature" }, make("code", {}, kernel.signature)), kernel.doc ? make("p", { class: "doc" }, kernel.doc) : null);
  kernel.element = box;
  const some = (name) => ok.some((t) => t[name] && t[name].length);
  box.append(part("Summary", "", (p) => p.append(...facts(targets)), true));
  box.append(part("Source", "with the cost of each line", (p) => p.append(sourceTable(kernel)), true));
  kernel.codePart = part("Code", "beside the lines that it is for", (p) => p.append(columns(targets, (c, t) => {
    t.code.forEach((text, i) => c.append(part(text.name, `${text.lines.length + text.out} lines`, (q) => q.append(codeBox(kernel, text)), i === t.code.length - 1)));
  })));
  box.append(kernel.codePart);
  if (ok.some((t) => t.prediction)) {
    box.append(part("Time", "by the model: units and roofline", (p) => p.append(columns(targets, (c, t) => {
      c.append(t.prediction ? bars(t.prediction) : make("p", { class: "none" }, "The machine's rates are not known: see its simulated run."));
    }), roofline(ok)), true));
  }
  if (some("timeline")) {
    box.append(part("Timeline", "of a simulated run", (p) => p.append(columns(targets, (c, t) => {
      const holder = make("div", { class: "simulated" });
      const parsed = t.timeline ? new DOMParser().parseFromString(t.timeline, "image/svg+xml").documentElement : null;
      holder.append(parsed || make("p", { class: "none" }, "No run was simulated for this machine."));
      c.append(holder);
    })), true));
  }
  if (some("picture")) box.append(part("Machine", "", (p) => p.append(columns(targets, (c, t) => { if (t.picture) c.append(make("pre", {}, t.picture)); }))));
  if (some("memory")) {
    box.append(part("Memory", "on the chip: which bytes a buffer has, while it lives", (p) => p.append(columns(targets, (c, t) => {
      if (!t.memory.length) c.append(make("p", { class: "none" }, "No buffers are planned."));
      t.memory.forEach((plan) => c.append(make("div", { class: "none" }, `${plan.kernel}: ${bytes(plan.bytes)}`), memoryPicture(plan)));
    }))));
  }
  if (some("layouts")) {
    box.append(part("Layouts", "thread:element", (p) => p.append(columns(targets, (c, t) => {
      if (!t.layouts.length) c.append(make("p", { class: "none" }, "Tiles have no layouts on this machine."));
      t.layouts.forEach((l) => c.append(layoutPicture(l)));
    }))));
  }
  box.append(part("Passes", "the IR after each", (p) => p.append(columns(targets, stages))));
  return box;
}

// Search: lines and texts of what is open, and the texts of parts, which open where they hold the word.
let matches = [], current = -1;
function search(word) {
  document.querySelectorAll("mark").forEach((m) => m.replaceWith(...m.childNodes));
  document.getElementById("page").normalize();
  matches = [];
  current = -1;
  if (word.length < 2) return say("");
  const low = word.toLowerCase();
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (texts.nextNode()) if (texts.currentNode.data.toLowerCase().includes(low) && !texts.currentNode.parentElement.closest("svg")) nodes.push(texts.currentNode);
  for (const node of nodes.slice(0, 2000)) {
    const at = node.data.toLowerCase().indexOf(low);
    const rest = node.splitText(at);
    rest.splitText(word.length);
    const mark = make("mark");
    rest.replaceWith(mark);
    mark.append(rest);
    matches.push(mark);
  }
  go(1);
}
function go(step) {
  if (!matches.length) return say("nothing found");
  current = (current + step + matches.length) % matches.length;
  const mark = matches[current];
  for (let e = mark.closest("details"); e; e = e.parentElement.closest("details")) e.open = true;
  mark.scrollIntoView({ block: "center" });
  say(`${current + 1} of ${matches.length}`);
}
const say = (text) => { document.getElementById("found").textContent = text; };

function fillAll() { for (let more = true; more;) { more = false; document.querySelectorAll("details").forEach((d) => { if (!d.isFilled && d.fillNow) { d.fillNow(); more = true; } }); } }
function openAll(open) { if (open) fillAll(); document.querySelectorAll("details").forEach((d) => { d.open = open; }); }

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.querySelectorAll("canvas").forEach((c) => c.redraw && c.redraw());
}

function start() {
  const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "dark" : "light");
  const input = make("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search",
    oninput: () => { clearTimeout(input.later); input.later = setTimeout(() => search(input.value), 200); },
    onkeydown: (e) => { if (e.key === "Enter") { fillAll(); if (!matches.length || input.last !== input.value) search(input.value); else go(e.shiftKey ? -1 : 1); input.last = input.value; } } });
  const header = make("header", {}, make("h1", {}, DATA.title), make("span", { class: "targets" }, `${DATA.targets.join(", ")} · dslc ${DATA.version}`),
    input, make("span", { id: "found", class: "keys", role: "status" }), make("button", { onclick: () => openAll(true) }, "Open all"),
    make("button", { onclick: () => openAll(false) }, "Close all"),
    make("button", { onclick: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark") }, "Dark / light"));
  const sections = DATA.kernels.map((k) => ({ kernel: k }));
  const main = make("main");
  const nav = make("nav", { "aria-label": "Kernels" });
  const show = (i) => {
    sections.forEach((s, j) => {
      if (j === i && !s.element) main.append((s.element = kernelSection(s.kernel)));
      if (s.element) s.element.hidden = j !== i;
      s.button.setAttribute("aria-pressed", String(j === i));
    });
  };
  sections.forEach((s, i) => { s.button = make("button", { onclick: () => show(i) }, s.kernel.name); nav.append(s.button); });
  if (sections.length > 1) main.append(nav);
  main.append(make("p", { class: "keys" }, make("kbd", {}, "/"), " search, ", make("kbd", {}, "Enter"), " next, ",
    make("kbd", {}, "o"), " open all, ", make("kbd", {}, "c"), " close all, ", make("kbd", {}, "d"), " dark or light",
    ...(sections.length > 1 ? [", ", make("kbd", {}, "["), " ", make("kbd", {}, "]"), " other kernels"] : [])));
  document.getElementById("page").replaceChildren(header, main);
  let shown = 0;
  show(0);
  document.addEventListener("keydown", (e) => {
    if (e.target.tagName === "INPUT") { if (e.key === "Escape") e.target.blur(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const keys = { "/": () => input.focus(), o: () => openAll(true), c: () => openAll(false),
      d: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
      "]": () => show((shown = (shown + 1) % sections.length)), "[": () => show((shown = (shown - 1 + sections.length) % sections.length)) };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  if (window.location.hash.includes("dark")) setTheme("dark");
  if (window.location.hash.includes("open")) openAll(true);
  document.documentElement.dataset.ready = "yes";
}
start();
