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
  const image = entry.image ? el("img", { class: "thumbnail", src: entry.image, alt: "" }) : null;
  const content = [entry.swatch ? swatch(entry.swatch) : null, image, entry.text];
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

function foot(content) {
  const button = el("button", { type: "button", class: "save", onclick: () => save(`${content.name}.csv`, content.csv) }, "Save as CSV");
  button.setAttribute("aria-label", `Save as CSV: ${content.title}`);
  return el("div", { class: "foot" }, el("p", {}, (content.notes ?? []).join(" ")), button);
}
