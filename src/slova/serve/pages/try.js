// Sends the rows of the form to the model. Responses are inserted as text, never as markup.
"use strict";
const by = (id) => document.getElementById(id);
let model = null;

async function request(path, options = {}) {
  const token = by("token").value.trim();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { ...options, headers });
  const content = await response.json();
  if (response.status === 401) by("token-field").hidden = false;
  if (!response.ok) throw new Error(content.error);
  return content;
}

async function loadModel() {
  model = await request("predict");
  by("model").textContent = model.model;
  const inputs = model.inputs.map((input) => `${input.name}: ${sizes(input).join(" × ") || "one number"}`).join("; ");
  by("inputs").textContent = `${model.classes} classes. Inputs per row: ${inputs}.`;
  by("example").textContent = model.examples ? "Examples" : "Random rows";
  by("image").hidden = !imageShape();
  if (imageShape()) by("file-about").textContent = `scaled to ${imageShape()[2]} × ${imageShape()[1]}, numbers from 0 to 1`;
  if (by("reject").value === "") by("reject").value = model.reject;
}

// [channels, height, width] of a model of one image per row, else null.
function imageShape() {
  const shape = model.inputs[0].shape.slice(1);
  return model.inputs.length === 1 && shape.length === 3 && !shape.includes(-1) && [1, 3].includes(shape[0]) ? shape : null;
}

async function choosePicture() {
  const [channels, height, width] = imageShape();
  const canvas = by("preview");
  Object.assign(canvas, { width, height, hidden: false });
  const context = canvas.getContext("2d");
  context.drawImage(await createImageBitmap(by("file").files[0]), 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const value = (pixel, channel) => (channels === 3 ? data[4 * pixel + channel] : 0.299 * data[4 * pixel] + 0.587 * data[4 * pixel + 1] + 0.114 * data[4 * pixel + 2]) / 255;
  const line = (channel, y) => Array.from({ length: width }, (_, x) => Math.round(1e4 * value(y * width + x, channel)) / 1e4);
  const image = Array.from({ length: channels }, (_, channel) => Array.from({ length: height }, (_, y) => line(channel, y)));
  by("rows").value = JSON.stringify([image]);
  await predict();
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
  by("rows").value = model.examples ? JSON.stringify(model.examples) : randomRows();
  by("rows").focus();
}

function randomRows() {
  const random = (shape) => (shape.length ? Array.from({ length: shape[0] === -1 ? 4 : shape[0] }, () => random(shape.slice(1))) : Math.round(Math.random() * 800 - 400) / 100);
  const rows = (input) => [random(input.shape.slice(1)), random(input.shape.slice(1))];
  const one = model.inputs.length === 1;
  if (one && model.inputs[0].shape.length === 2) return rows(model.inputs[0]).map((row) => row.join(", ")).join("\n");
  return JSON.stringify(one ? rows(model.inputs[0]) : Object.fromEntries(model.inputs.map((input) => [input.name, rows(input)])));
}

const OUTPUTS = ["label", "confidence", "none", "ambiguous", "log_probs"];
const shapeOf = (rows) => (Array.isArray(rows) ? [rows.length, ...(rows.length ? shapeOf(rows[0]) : [])] : []);

// By the Open Inference Protocol, which gives the probabilities of all classes.
async function predict() {
  const given = parse(by("rows").value);
  const rows = (input) => (Array.isArray(given) && model.inputs.length === 1 ? given : given[input.name]);
  const inputs = model.inputs.map((input) => ({ name: input.name, datatype: input.datatype, shape: shapeOf(rows(input)), data: rows(input) }));
  const parameters = by("reject").value === "" ? {} : { reject: Number(by("reject").value) };
  const body = JSON.stringify({ inputs, parameters, outputs: OUTPUTS.map((name) => ({ name })) });
  const { outputs } = await request(`v2/models/${encodeURIComponent(model.model)}/infer`, { method: "POST", body });
  show(Object.fromEntries(outputs.map((output) => [output.name, output.data])));
}

function show(found) {
  const rejected = found.label.filter((label) => label === -1).length;
  by("predictions").hidden = false;
  by("predictions").replaceChildren(...found.label.map((_, row) => card(found, row)));
  setStatus(`${found.label.length} ${found.label.length === 1 ? "row" : "rows"}, ${rejected} of them rejected.`);
}

// One row: the label or NONE with the reason, and the most probable outcomes as bars.
function card(found, row) {
  const [none, ambiguous] = [found.none[row], found.ambiguous[row]];
  const refused = found.label[row] === -1;
  const probs = found.log_probs.slice(row * model.classes, (row + 1) * model.classes).map((value) => Math.exp(value));
  const order = probs.map((_, k) => k).sort((a, b) => probs[b] - probs[a]).slice(0, 5);
  const reason = none > ambiguous ? "nothing fits" : "several fit";
  const title = element("p", refused ? "none" : "label", refused ? "NONE" : className(found.label[row]));
  title.append(element("span", "muted", refused ? ` ${reason}` : ` confidence ${percent(found.confidence[row])}`));
  const outcomes = [...order.map((k) => [className(k), probs[k], ""]), ["no class", none, "none"]];
  const item = element("li", "", "");
  item.append(title, ...outcomes.map(([name, share, kind]) => bar(name, share, kind)));
  return item;
}

const className = (k) => (model.names ? model.names[k] : String(k));

function bar(name, share, kind) {
  const line = element("div", `bar ${kind}`, "");
  const meter = document.createElement("progress");
  meter.value = share ?? 0;
  meter.setAttribute("aria-label", name);
  line.append(element("span", "name", name), meter, element("span", "share", percent(share)));
  return line;
}

function element(tag, kind, text) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  node.textContent = text;
  return node;
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
by("file").addEventListener("change", () => attempt(choosePicture));
by("example").addEventListener("click", () => attempt(example));
by("rows").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit(); });
loadModel().catch((error) => { by("inputs").textContent = error.message; });
