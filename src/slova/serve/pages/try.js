// Sends the rows of the form to /predict. Responses are inserted as text, never as markup.
"use strict";
const by = (id) => document.getElementById(id);
let model = null;

async function request(options = {}) {
  const token = by("token").value.trim();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch("/predict", { ...options, headers });
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}

async function loadModel() {
  model = await request();
  by("model").textContent = model.model;
  const inputs = model.inputs.map((input) => `${input.name}: ${sizes(input).join(" × ") || "one number"}`).join("; ");
  by("inputs").textContent = `${model.classes} classes. Inputs per row: ${inputs}.`;
  if (by("reject").value === "") by("reject").value = model.reject;
}

const sizes = (input) => input.shape.slice(1).map((size) => (size === -1 ? "any" : size));

// JSON is sent as it is; otherwise every line is a row, reshaped to the shape of the input.
function parse(text) {
  if (/^\s*(\{|\[\s*[[{])/.test(text)) return JSON.parse(text);
  const lines = text.split("\n").filter((line) => line.trim());
  const shape = model ? model.inputs[0].shape.slice(2) : [];
  return lines.map((line, row) => reshape(line.split(/[\s,;[\]]+/).filter(Boolean).map((word) => number(word, row)), shape));
}

function number(word, row) {
  const value = Number(word);
  if (!Number.isFinite(value)) throw new Error(`“${word}” in row ${row + 1} is not a number`);
  return value;
}

function reshape(numbers, shape) {
  if (!shape.length || shape.includes(-1)) return numbers;
  const size = shape.reduce((product, factor) => product * factor, 1);
  const parts = [];
  for (let i = 0; i < numbers.length; i += size) parts.push(reshape(numbers.slice(i, i + size), shape.slice(1)));
  return parts;
}

function example() {
  const random = (shape) => (shape.length ? Array.from({ length: shape[0] === -1 ? 4 : shape[0] }, () => random(shape.slice(1))) : Math.round(Math.random() * 800 - 400) / 100);
  const rows = (input) => [random(input.shape.slice(1)), random(input.shape.slice(1))];
  const one = model.inputs.length === 1;
  const plain = one && model.inputs[0].shape.length === 2;
  by("rows").value = plain
    ? rows(model.inputs[0]).map((row) => row.join(", ")).join("\n")
    : JSON.stringify(one ? rows(model.inputs[0]) : Object.fromEntries(model.inputs.map((input) => [input.name, rows(input)])));
  by("rows").focus();
}

async function predict() {
  const inputs = parse(by("rows").value);
  const reject = by("reject").value === "" ? {} : { reject: Number(by("reject").value) };
  show(await request({ method: "POST", body: JSON.stringify({ inputs, ...reject }) }));
}

function show(predictions) {
  by("predictions").hidden = false;
  by("predictions").tBodies[0].replaceChildren(...predictions.map(row));
  const none = predictions.filter((one) => one.label === null).length;
  setStatus(`${predictions.length} ${predictions.length === 1 ? "row" : "rows"}, ${none} of them rejected.`);
}

function row(prediction, index) {
  const line = document.createElement("tr");
  const label = cell(prediction.label === null ? "none" : String(prediction.label));
  if (prediction.label === null) label.className = "none";
  const confidence = cell(percent(prediction.confidence));
  const meter = document.createElement("meter");
  meter.value = prediction.confidence ?? 0;
  meter.setAttribute("aria-hidden", "true");
  confidence.prepend(meter);
  line.append(cell(String(index + 1)), label, confidence, cell(percent(prediction.none)), cell(percent(prediction.ambiguous)));
  return line;
}

function cell(text) {
  const element = document.createElement("td");
  element.textContent = text;
  return element;
}

const percent = (share) => (share === null ? "?" : `${(100 * share).toFixed(1)} %`);

function setStatus(text, error = false) {
  by("status").textContent = text;
  by("status").classList.toggle("error", error);
}

async function attempt(action) {
  try {
    setStatus("");
    if (!model) await loadModel();
    await action();
  } catch (error) {
    by("predictions").hidden = true;
    setStatus(error.message, true);
  }
}

by("form").addEventListener("submit", (event) => { event.preventDefault(); attempt(predict); });
by("example").addEventListener("click", () => attempt(example));
by("rows").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit(); });
loadModel().catch((error) => { by("inputs").textContent = error.message; });
