// Tables that sort by any column and can be taken away as CSV.

/** A table of {name, title, columns: [{name, group}], rows: [[{text, value, mark}]], notes, csv}. */
function table(content, { sortable = true } = {}) {
  const body = el("tbody");
  const words = content.columns.map((_, place) => content.rows.every((row) => (row[place].value ?? null) === null));
  const heads = content.columns.map((column, place) => head(column, words[place], sortable && (() => sort(place))));
  const fill = (rows) => body.replaceChildren(...rows.map((row) => el("tr", {}, ...row.map((entry, place) => cell(entry, place, words[place])))));
  let rows = content.rows;

  function sort(place) {
    const up = heads[place].getAttribute("aria-sort") !== "ascending";
    heads.forEach((node) => node.removeAttribute("aria-sort"));
    heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
    rows = sorted(content.rows, place, up);
    fill(rows);
  }

  fill(rows);
  const inside = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": content.title }, inside);
}

function head(column, words, sort) {
  const label = [column.group ? el("small", {}, column.group) : null, column.name];
  const inside = sort ? el("button", { type: "button", onclick: sort }, ...label.filter(Boolean)) : el("span", {}, ...label.filter(Boolean));
  return el("th", { scope: "col", class: words ? "words" : null }, inside);
}

function cell(entry, place, words) {
  const content = [entry.swatch ? swatch(entry.swatch) : null, entry.text];
  if (place === 0) return el("th", { scope: "row" }, ...content);
  const kinds = [entry.mark, words && "words", entry.text.length > 40 && "long"];
  return el("td", { class: kinds.filter(Boolean).join(" ") || null }, ...content);
}

/** Numbers by size, words by the alphabet; what is missing comes last either way. */
function sorted(rows, place, up) {
  const value = (row) => row[place].value ?? null;
  const numeric = rows.some((row) => value(row) !== null);
  const missing = (row) => (numeric ? value(row) === null : !row[place].text);
  const compare = numeric ? (a, b) => value(a) - value(b) : (a, b) => a[place].text.localeCompare(b[place].text, "en", { numeric: true });
  return [...rows].sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : (up ? 1 : -1) * compare(a, b)));
}

/** A table that opens when it is asked for, with its notes and a button to save it. */
function foldedTable(content, open) {
  const details = el("details", { open }, el("summary", {}, content.title));
  const fill = () => {
    if (!details.open || details.children.length > 1) return;
    details.append(...(content.missing ? [el("p", { class: "notice" }, content.missing)] : [table(content), foot(content)]));
  };
  details.addEventListener("toggle", fill);
  fill();
  return details;
}

function foot(content) {
  const button = el("button", { type: "button", class: "save", onclick: () => save(`${content.name}.csv`, content.csv) }, "Save as CSV");
  button.setAttribute("aria-label", `Save as CSV: ${content.title}`);
  return el("div", { class: "foot" }, el("p", {}, (content.notes ?? []).join(" ")), button);
}

/** The means over seeds of every cell of a panel, as a file. */
function cellsButton(panel) {
  const metrics = Object.keys(panel.cells.metrics);
  const columns = metrics.flatMap((metric) => [metric, `${metric}_error`]);
  const line = (point) => {
    const values = metrics.flatMap((metric) => [point.mean[metric], point.error[metric]]);
    return csvLine([data.series[point.series].key, point.test, point.shift, point.level, point.seeds, ...values]);
  };
  const text = () => csvLine(["method", "test", "shift", "level", "seeds", ...columns]) + points(panel).map(line).join("");
  const button = el("button", { type: "button", class: "save", onclick: () => save(`${panel.id}-means.csv`, text()) }, "Save all means as CSV");
  const rows = `Every cell of this experiment, mean and standard error over seeds; the rows themselves are in ${panel.id}.csv.`;
  return el("div", { class: "foot" }, el("p", {}, rows), button);
}
