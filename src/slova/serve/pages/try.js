// Rows as people type them, to /predict and back. Whatever the server says is shown as text, never as markup.
"use strict";
const by = (id) => document.getElementById(id);
let model = null;

async function fetched(options = {}) {
  const token = by("token").value.trim();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch("/predict", { ...options, headers });
  const said = await response.json();
  if (!response.ok) throw new Error(said.error);
  return said;
}

async function meet() {
  model = await fetched();
  by("model").textContent = model.model;
  const inputs = model.inputs.map((input) => `${input.name}: ${sizes(input).join(" × ") || "one number"}`).join("; ");
  by("takes").textContent = `${model.classes} classes. A row holds ${inputs}.`;
  if (by("reject").value === "") by("reject").value = model.reject;
}

const sizes = (input) => input.shape.slice(1).map((size) => (size === -1 ? "any" : size));

// JSON as it is; else a line is a row, its numbers in the order of the model's own shape.
function typed(text) {
  if (/^\s*(\{|\[\s*[[{])/.test(text)) return JSON.parse(text);
  const lines = text.split("\n").filter((line) => line.trim());
  const shape = model ? model.inputs[0].shape.slice(2) : [];
  return lines.map((line, row) => folded(line.split(/[\s,;[\]]+/).filter(Boolean).map((word) => number(word, row)), shape));
}

function number(word, row) {
  const value = Number(word);
  if (!Number.isFinite(value)) throw new Error(`“${word}” in row ${row + 1} is no number`);
  return value;
}

function folded(numbers, shape) {
  if (!shape.length || shape.includes(-1)) return numbers;
  const size = shape.reduce((product, factor) => product * factor, 1);
  const parts = [];
  for (let i = 0; i < numbers.length; i += size) parts.push(folded(numbers.slice(i, i + size), shape.slice(1)));
  return parts;
}

function example() {
  const made = (shape) => (shape.length ? Array.from({ length: shape[0] === -1 ? 4 : shape[0] }, () => made(shape.slice(1))) : Math.round(Math.random() * 800 - 400) / 100);
  const rows = (input) => [made(input.shape.slice(1)), made(input.shape.slice(1))];
  const one = model.inputs.length === 1;
  const plain = one && model.inputs[0].shape.length === 2;
  by("rows").value = plain
    ? rows(model.inputs[0]).map((row) => row.join(", ")).join("\n")
    : JSON.stringify(one ? rows(model.inputs[0]) : Object.fromEntries(model.inputs.map((input) => [input.name, rows(input)])));
  by("rows").focus();
}

async function ask() {
  const inputs = typed(by("rows").value);
  const reject = by("reject").value === "" ? {} : { reject: Number(by("reject").value) };
  show(await fetched({ method: "POST", body: JSON.stringify({ inputs, ...reject }) }));
}

function show(answers) {
  by("answers").hidden = false;
  by("answers").tBodies[0].replaceChildren(...answers.map(row));
  const none = answers.filter((answer) => answer.label === null).length;
  say(`${answers.length} ${answers.length === 1 ? "row" : "rows"}, ${none} of them rejected.`);
}

function row(answer, index) {
  const line = document.createElement("tr");
  const label = cell(answer.label === null ? "none" : String(answer.label));
  if (answer.label === null) label.className = "none";
  const sure = cell(percent(answer.confidence));
  const meter = document.createElement("meter");
  meter.value = answer.confidence ?? 0;
  meter.setAttribute("aria-hidden", "true");
  sure.prepend(meter);
  line.append(cell(String(index + 1)), label, sure, cell(percent(answer.none)), cell(percent(answer.several)));
  return line;
}

function cell(text) {
  const made = document.createElement("td");
  made.textContent = text;
  return made;
}

const percent = (share) => (share === null ? "?" : `${(100 * share).toFixed(1)} %`);

function say(text, wrong = false) {
  by("said").textContent = text;
  by("said").classList.toggle("wrong", wrong);
}

async function attempt(action) {
  try {
    say("");
    if (!model) await meet();
    await action();
  } catch (error) {
    by("answers").hidden = true;
    say(error.message, true);
  }
}

by("ask").addEventListener("submit", (event) => { event.preventDefault(); attempt(ask); });
by("example").addEventListener("click", () => attempt(example));
by("rows").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("ask").requestSubmit(); });
meet().catch((error) => { by("takes").textContent = error.message; });
