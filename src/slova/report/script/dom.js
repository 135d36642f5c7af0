// Elements, selects and files. Text is always text here: no string is ever parsed as markup.

const byId = (id) => document.getElementById(id);

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function show(id, visible) {
  byId(id).hidden = !visible;
  return visible;
}

/** A labelled select; options are [value, text], or {group, options}. */
function choice(label, options, value, chosen) {
  const option = ([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text);
  const entries = options.map((entry) =>
    entry.group ? el("optgroup", { label: entry.group }, ...entry.options.map(option)) : option(entry),
  );
  const select = el("select", { onchange: (event) => chosen(event.target.value) }, ...entries);
  return el("label", { class: "control" }, label, select);
}

/** The line of a legend, with the dash of the chart. */
function swatch(series) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const attributes = { x1: 0, x2: 26, y1: 6, y2: 6, stroke: colour(series), "stroke-width": 3, "stroke-dasharray": series.dash };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  for (const [name, value] of Object.entries({ width: 26, height: 12, "aria-hidden": "true", class: "swatch" })) node.setAttribute(name, value);
  node.append(line);
  return node;
}

/** Hands a text to the reader as a file. */
function save(name, text, type = "text/csv") {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** One line of CSV. */
function csvLine(cells) {
  const quoted = cells.map((cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${quoted.join(",")}\n`;
}
