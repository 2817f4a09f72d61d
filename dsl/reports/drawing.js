"use strict";
// Elements, words and colours that all parts of the page are made of.

const DATA = JSON.parse(document.getElementById("data").textContent);
const WORDS = new Set(("kernel program const tune require out inout for in while if elif else return assert pass " +
  "from import and or not parallel static").split(" "));

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A part that is drawn when it is opened first, and at once where it is open.
function part(title, about, fill, open) {
  const inside = make("div", { class: "inside" });
  const element = make("details", {}, make("summary", {}, title, about ? make("span", { class: "about" }, about) : null), inside);
  element.fillNow = () => {
    if (!element.isFilled) { element.isFilled = true; fill(inside); }
  };
  element.addEventListener("toggle", () => { if (element.open) element.fillNow(); });
  if (open) { element.open = true; element.fillNow(); }
  return element;
}

function columns(targets, show) {
  const box = make("div", { class: "columns" });
  box.style.setProperty("--count", targets.length);
  for (const target of targets) {
    const column = make("div", {}, make("h3", {}, target.target));
    if (target.error) column.append(make("pre", { class: "error" }, target.error));
    else show(column, target);
    box.append(column);
  }
  return box;
}

function scaled(value, units, step) {
  let i = 0;
  while (value >= step && i < units.length - 1) { value /= step; i += 1; }
  return `${value >= 100 || i === 0 && Number.isInteger(value) ? Math.round(value) : value.toPrecision(3)} ${units[i]}`;
}
const bytes = (n) => scaled(n, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const count = (n) => scaled(n, ["", "k", "M", "G", "T"], 1000).trim();
function time(s) {
  return s >= 1 ? `${s.toPrecision(3)} s` : s >= 1e-3 ? `${(s * 1e3).toPrecision(3)} ms` : s >= 1e-6
    ? `${(s * 1e6).toPrecision(3)} us` : `${(s * 1e9).toPrecision(3)} ns`;
}

// Neighbouring threads get colours far apart.
function colour(number) {
  const dark = document.documentElement.dataset.theme === "dark";
  return `hsl(${(number * 137.508) % 360} 65% ${dark ? 34 : 82}%)`;
}

// A line of the language with its words in colour.
function tinted(text) {
  const found = [];
  const pattern = /(#.*$)|("(?:[^"\\]|\\.)*"?)|([A-Za-z_]\w*)(\s*\()?|(.)/g;
  for (const m of text.matchAll(pattern)) {
    if (m[1]) found.push(make("span", { class: "c" }, m[1]));
    else if (m[2]) found.push(make("span", { class: "s" }, m[2]));
    else if (m[3] && WORDS.has(m[3])) found.push(make("span", { class: "w" }, m[3]), m[4] || "");
    else if (m[3] && m[4]) found.push(make("span", { class: "f" }, m[3]), m[4]);
    else found.push(m[0]);
  }
  return found;
}
