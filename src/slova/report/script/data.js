// The numbers of the page.

const data = JSON.parse(byId("data").textContent);
const BINS = 100;
const COARSE = 20;

const state = { threshold: 0.5 }; // what the reader chose

const testName = (test) => data.names?.tests[test] ?? test;
const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(2)} %` : "–");

/** Where each histogram or cell belongs: {series, test, shift, level}. */
function placesOf(columns) {
  return columns.series.map((series, row) => ({
    series,
    test: columns.tests[columns.test[row]],
    shift: columns.shifts?.[columns.shift[row]] ?? "",
    level: columns.level?.[row] ?? 0,
  }));
}

/** The histograms of a panel: {series, test, shift, level, count, errors, middle}. */
function histograms(panel) {
  const columns = panel?.histograms;
  if (!columns) return [];
  const bins = (row) => ({ count: columns.count[row], errors: columns.errors[row], middle: columns.middle[row] });
  panel.places ??= placesOf(columns).map((place, row) => ({ ...place, ...bins(row) }));
  return panel.places;
}

/** Several histograms as one; null for none. */
function merged(found) {
  if (!found.length) return null;
  const sum = (name) => Float64Array.from({ length: BINS }, (_, bin) => found.reduce((total, one) => total + one[name][bin], 0));
  const totals = Float64Array.from({ length: COARSE }, (_, bin) => found.reduce((total, one) => total + coarse(one.count)[bin] * one.middle[bin], 0));
  const count = sum("count");
  const rows = coarse(count);
  return { count, errors: sum("errors"), middle: totals.map((total, bin) => (rows[bin] ? total / rows[bin] : 0)) };
}

function coarse(bins) {
  const width = BINS / COARSE;
  return Float64Array.from({ length: COARSE }, (_, bin) => bins.slice(bin * width, (bin + 1) * width).reduce((a, b) => a + b, 0));
}

/** What a threshold of t hundredths leaves: the share answered, the share of it that is right, wrong answers of all. */
function answered({ count, errors }, t) {
  const above = (bins) => bins.slice(t).reduce((a, b) => a + b, 0);
  const rows = count.reduce((a, b) => a + b, 0);
  const kept = above(count);
  const wrong = above(errors);
  return { coverage: kept / rows, accuracy: kept ? 1 - wrong / kept : NaN, wrong: wrong / rows, rejected: 1 - kept / rows, kept };
}
