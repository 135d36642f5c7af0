// The reject slider: what a threshold leaves of the answers, and how much out-of-distribution data it rejects.

function drawReject(panel) {
  if (!show("part-reject", Boolean(panel.histograms))) return;
  fillReject(panel);
}

function fillReject(panel) {
  if (!panel.histograms) return;
  const shown = seen(panel, isShown(panel));
  const curves = shown.flatMap(riskCurve);
  draw(byId("chart-risk"), "risk", { points: curves, marks: marks(shown) }, { label: "Errors among the answered, against coverage" });
  moveThreshold(panel, shown);
}

/** Only what depends on the slider. */
function moveThreshold(panel, shown = seen(panel, isShown(panel))) {
  byId("threshold-value").textContent = state.threshold.toFixed(2);
  byId("threshold").setAttribute("aria-valuetext", `confidence ${state.threshold.toFixed(2)}`);
  const ood = oodSets(panel);
  const rows = shown.map((one) => rejectRow(one, ood));
  byId("reject-table").replaceChildren(table(rejectContent(rows, ood), { sortable: false }));
  tell(rows, ood);
  const known = drawn.get(byId("chart-risk"));
  known?.view?.data("marks", marks(shown)).runAsync();
}

const step = () => Math.round(100 * state.threshold);

/** The out-of-distribution sets: [{test, of: series -> histogram}]. */
function oodSets(panel) {
  const from = kindOf(panel).outside(panel);
  const found = histograms(from).filter((one) => one.test !== from.own && !one.shift);
  return [...new Set(found.map((one) => one.test))].map((test) => ({
    test,
    of: new Map(found.filter((one) => one.test === test).map((one) => [one.series, one])),
  }));
}

function rejectRow(one, ood) {
  const rejected = ood.map(({ of }) => (of.has(one.index) ? answered(of.get(one.index), step()).rejected : NaN));
  return { index: one.index, ...answered(one, step()), rejected };
}

function rejectContent(rows, ood) {
  const own = ["Coverage", "Accuracy of the answered", "Wrong answers, of all rows"].map((name) => ({ name }));
  const columns = [{ name: "Method" }, ...own, ...ood.map(({ test }) => ({ group: "rejected of", name: testName(test) }))];
  const entry = (share) => ({ text: percent(share), value: Number.isFinite(share) ? share : null });
  const entries = rows.map((row) => [
    { text: data.series[row.index].name, swatch: data.series[row.index] },
    ...[row.coverage, row.accuracy, row.wrong, ...row.rejected].map(entry),
  ]);
  return { title: "What the threshold leaves", columns, rows: entries };
}

let telling = 0;

/** The last method in a sentence, once the slider rests, for those who cannot see the table change. */
function tell(rows, ood) {
  clearTimeout(telling);
  telling = setTimeout(() => {
    const row = rows.at(-1);
    byId("reject-says").textContent = row ? sentence(row, ood) : "Choose a method.";
  }, 250);
}

function sentence(row, ood) {
  const name = data.series[row.index].name;
  const turned = ood.flatMap(({ test }, place) => (Number.isFinite(row.rejected[place]) ? [`${percent(row.rejected[place])} of ${testName(test)}`] : []));
  const away = turned.length ? ` Rejected: ${turned.slice(0, 3).join(", ")}.` : "";
  return `${name}: ${percent(row.coverage)} of the rows are answered, ${percent(row.accuracy)} of these rightly.${away}`;
}

/** A point of the curve at every threshold of the slider that changes something. */
function riskCurve(one) {
  const steps = Array.from({ length: BINS }, (_, t) => ({ t, ...answered(one, t) }));
  return steps.filter(({ t, kept }) => kept && (t === 0 || one.count[t - 1])).map(({ t, ...found }) => riskPoint(one.index, t, found));
}

function riskPoint(index, t, { coverage, accuracy }) {
  const where = `threshold ${(t / 100).toFixed(2)}`;
  return { ...looks(index), coverage, risk: 1 - accuracy, where, says: `${percent(1 - accuracy)} errors at ${percent(coverage)} coverage` };
}

function marks(shown) {
  return shown.map((one) => [one, answered(one, step())]).filter(([, found]) => found.kept).map(([one, found]) => riskPoint(one.index, step(), found));
}

function startReject(current) {
  byId("threshold").addEventListener("input", (event) => {
    state.threshold = Number(event.target.value);
    moveThreshold(current());
  });
}
