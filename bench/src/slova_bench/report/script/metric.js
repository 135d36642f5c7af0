// The metric of an experiment, drawn in the way that fits it: by severity, by test set, by distance, by what varies.

const MAIN = ["ece", "auroc", "mmc"]; // the first of these that there is comes first

function drawMetric(panel, changed) {
  const part = byId("part-metric");
  const metrics = Object.keys(panel.cells.metrics);
  if (!metrics.includes(state.metric)) state.metric = MAIN.find((name) => metrics.includes(name)) ?? metrics[0];
  part.querySelector(".controls").replaceChildren(...metricControls(panel, metrics, changed));
  show("part-metric", true);
  fillMetric(panel);
}

function metricControls(panel, metrics, changed) {
  const select = (label, name, options) => choice(label, options, state[name], pick(name, changed));
  const controls = [];
  if (metrics.length > 1 && !["maps", "plane"].includes(panel.chart)) {
    controls.push(select("Metric", "metric", metrics.map((name) => [name, title(name)])));
  }
  if (panel.chart === "severity") {
    const shifts = panel.cells.shifts.filter(Boolean);
    if (!shifts.includes(state.shift)) state.shift = ALL;
    controls.push(select("Type of shift", "shift", [[ALL, `all ${shifts.length} types`], ...shifts.map((shift) => [shift, shiftName(shift)])]));
    if (state.shift === ALL) controls.push(select("Shown as", "view", [["types", "means over types"], ["boxes", "quartiles over types"]]));
  }
  return controls;
}

function fillMetric(panel) {
  const part = byId("part-metric");
  const plots = PLOTS[panel.chart](panel, state.metric);
  const box = part.querySelector(".charts");
  box.classList.toggle("many", plots.length > 1);
  while (box.children.length > plots.length) box.lastChild.remove();
  while (box.children.length < plots.length) box.append(el("div", {}, el("h4"), el("div", { class: "chart" })));
  plots.forEach((plot, place) => {
    const [heading, chart] = box.children[place].children;
    heading.textContent = plot.title ?? "";
    heading.hidden = !plot.title;
    draw(chart, plot.spec, plot.datasets, { label: `${plot.title ?? panel.title}: ${data.metrics[state.metric].name}`, ...plot.words });
  });
  part.querySelector("figcaption").textContent = CAPTIONS[plots[0]?.spec] ?? "";
}

const CAPTIONS = {
  severity: "Bars: one standard error over seeds. Severity 0 is clean data.",
  types: "Means over all types of shift. Severity 0 is clean data.",
  boxes: "Boxes: quartiles over the types of shift, lines to the extremes.",
  sets: "Lines at the ends of bars: one standard error over seeds.",
  distance: "The axis is logarithmic from 0.03 on; 0 is the image itself.",
};

/** The points of the chosen methods that have this metric; `where` names the place of one. */
function marked(panel, metric, where) {
  const found = new Set(chosen(panel));
  const those = points(panel).filter((point) => found.has(point.series) && point.mean[metric] !== null);
  return those.map((point) => {
    const value = point.mean[metric];
    const error = point.error[metric];
    const spread = error === null ? "" : ` ± ${error.toFixed(3)}`;
    const says = `${value.toFixed(3)}${spread} (${point.seeds > 1 ? `${point.seeds} seeds` : "one seed"})`;
    return { ...point, ...looks(point.series), value, low: value - (error ?? 0), high: value + (error ?? 0), where: where(point), says };
  });
}

/** How the metric of a panel is drawn, by the name of its chart: [{spec, title, datasets, words}]. */
const PLOTS = {
  severity(panel, metric) {
    const every = state.shift === ALL;
    const values = marked(panel, metric, ({ level }) => `${shiftName(state.shift)}, severity ${level}`);
    const those = values.filter(({ shift }) => every || !shift || shift === state.shift).sort((a, b) => Boolean(a.shift) - Boolean(b.shift));
    return [{ spec: every ? state.view : "severity", datasets: { points: those }, words: { y: title(metric) } }];
  },
  sets(panel, metric) {
    const names = panel.cells.tests;
    const set = ({ test, shift }) => [testName(test), shift && shiftName(shift)].filter(Boolean).join(", ");
    const values = marked(panel, metric, set).map((value) => ({ ...value, set: value.where }));
    values.sort((a, b) => names.indexOf(a.test) - names.indexOf(b.test) || a.series - b.series);
    const height = new Set(values.map((value) => value.set)).size * (11 * chosen(panel).length + 16);
    return [{ spec: "sets", datasets: { points: values }, words: { x: title(metric), height } }];
  },
  distance(panel, metric) {
    const values = marked(panel, metric, ({ level }) => `distance ${level}`);
    return [{ spec: "distance", datasets: { points: values }, words: { y: title(metric) } }];
  },
  variants(panel, metric) {
    const values = marked(panel, metric, ({ shift, level }) => (level ? `${shift} = ${level}` : shift));
    const optimum = values.filter((value) => !value.level);
    const names = panel.cells.shifts.filter((name) => values.some(({ shift, level }) => shift === name && level));
    return names.map((name) => {
      const those = values.filter(({ shift }) => shift === name);
      return { spec: "variants", title: `By ${name}`, datasets: { points: those, optimum }, words: { x: name, y: title(metric) } };
    });
  },
  curve(panel, metric) {
    const values = marked(panel, metric, ({ level }) => `probability ${level}`);
    return [{ spec: "curve", datasets: { points: values }, words: { x: "probability", y: `${data.metrics[metric].name} probability` } }];
  },
  maps(panel) {
    const most = Math.max(...panel.cells.seeds);
    const [observed, every] = ["observed", "calibrated"].map((metric) => marked(panel, metric, ({ level }) => `probability ${level}`));
    const words = { x: "probability before calibration", y: "share of hits" };
    return [{ spec: "maps", datasets: { points: every.filter(({ seeds }) => seeds === most), observed }, words }];
  },
  plane(panel) {
    const those = panel.planes.filter((plane) => chosen(panel).includes(plane.series));
    return those.map((plane) => ({
      spec: "plane",
      title: data.series[plane.series].name,
      datasets: { points: plane.points.map(([alpha, beta, value]) => ({ alpha, beta, value })) },
    }));
  },
};
