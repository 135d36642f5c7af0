// The cells of experiments: columns become points, once each.

const ALL = "*"; // every type of shift

Object.assign(state, { on: data.sets[0]?.on ?? "", experiment: "", metric: "", view: "types", shift: ALL, level: "0", set: "" });

const panelOf = (experiment, on) => data.panels.find((panel) => panel.experiment === experiment && panel.on === on);
const shiftName = (shift) => data.names.shifts[shift] ?? shift;

/** A metric with the arrow of its better direction. */
const title = (metric) => `${data.metrics[metric].name} ${data.metrics[metric].arrow}`.trim();

/** The cells of a panel, one object each: {series, test, shift, level, seeds, mean: {metric: …}, error: {…}}. */
function points(panel) {
  panel.points ??= placesOf(panel.cells).map((place, row) => {
    const metrics = Object.entries(panel.cells.metrics);
    const part = (name) => Object.fromEntries(metrics.map(([metric, columns]) => [metric, columns[name][row]]));
    return { ...place, seeds: panel.cells.seeds[row], mean: part("mean"), error: part("error") };
  });
  return panel.points;
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
