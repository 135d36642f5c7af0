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
  const controls = [];
  if (metrics.length > 1 && !["maps", "plane"].includes(panel.chart)) {
    controls.push(choice("Metric", metrics.map((name) => [name, `${metricOf(name).name} ${metricOf(name).arrow}`]), state.metric, pick("metric", changed)));
  }
  if (panel.chart === "severity") {
    const shifts = panel.cells.shifts.filter(Boolean);
    if (!shifts.includes(state.shift)) state.shift = ALL;
    controls.push(choice("Type of shift", [[ALL, `all ${shifts.length} types`], ...shifts.map((shift) => [shift, shiftName(shift)])], state.shift, pick("shift", changed)));
    if (state.shift === ALL) {
      controls.push(choice("Shown as", [["lines", "means over types"], ["boxes", "quartiles over types"]], state.view, pick("view", changed)));
    }
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
    const [title, chart] = box.children[place].children;
    title.textContent = plot.title ?? "";
    title.hidden = !plot.title;
    draw(chart, plot.spec, plot.datasets, { label: `${plot.title ?? panel.title}: ${metricOf(state.metric).name}`, ...plot.words });
  });
  part.querySelector("figcaption").textContent = plots[0]?.caption ?? "";
}

/** The points of the chosen methods that have this metric. */
function chosenPoints(panel, metric) {
  const found = new Set(chosen(panel));
  return points(panel).filter((point) => found.has(point.series) && point.mean[metric] !== null);
}

function marked(point, metric, where) {
  const value = point.mean[metric];
  const error = point.error[metric];
  const note = point.seeds > 1 ? `${point.seeds} seeds` : "one seed";
  const spread = { low: value - (error ?? 0), high: value + (error ?? 0) };
  return { ...looks(point.series), level: point.level, value, ...spread, where, says: says(metric, value, error, note) };
}

const title = (metric) => `${metricOf(metric).name} ${metricOf(metric).arrow}`.trim();

const PLOTS = {
  severity(panel, metric) {
    const words = { y: title(metric) };
    const clean = chosenPoints(panel, metric).filter((point) => point.shift === "");
    const shifted = chosenPoints(panel, metric).filter((point) => point.shift !== "");
    if (state.shift !== ALL) {
      const those = [...clean, ...shifted.filter((point) => point.shift === state.shift)];
      const name = shiftName(state.shift);
      const values = those.map((point) => marked(point, metric, `${name}, severity ${point.level}`));
      return [{ spec: "severity", datasets: { points: values }, words, caption: "Bars: one standard error over seeds. Severity 0 is clean data." }];
    }
    const values = grouped([...clean, ...shifted]).map((those) => overTypes(those, metric));
    const spec = state.view === "boxes" ? "boxes" : "severity";
    const caption = spec === "boxes" ? "Boxes: quartiles over the types of shift, lines to the extremes." : "Means over all types of shift. Severity 0 is clean data.";
    return [{ spec, datasets: { points: values }, words, caption }];
  },
  sets(panel, metric) {
    const names = panel.cells.tests;
    const those = chosenPoints(panel, metric).sort((a, b) => names.indexOf(a.test) - names.indexOf(b.test) || a.series - b.series);
    const where = (point) => [testName(point.test), point.shift && shiftName(point.shift)].filter(Boolean).join(", ");
    const values = those.map((point) => ({ ...marked(point, metric, where(point)), set: where(point) }));
    const height = new Set(values.map((value) => value.set)).size * (11 * chosen(panel).length + 16);
    return [{ spec: "sets", datasets: { points: values }, words: { x: title(metric), height }, caption: "Lines at the ends of bars: one standard error over seeds." }];
  },
  distance(panel, metric) {
    const values = chosenPoints(panel, metric).map((point) => marked(point, metric, `distance ${point.level}`));
    return [{ spec: "distance", datasets: { points: values }, words: { y: title(metric) }, caption: "The axis is logarithmic from 0.03 on; 0 is the image itself." }];
  },
  variants(panel, metric) {
    const those = chosenPoints(panel, metric);
    const optimum = those.filter((point) => point.level === 0).map((point) => marked(point, metric, point.shift));
    const names = panel.cells.shifts.filter((name) => those.some((point) => point.shift === name && point.level > 0));
    return names.map((name) => {
      const values = those.filter((point) => point.shift === name).map((point) => marked(point, metric, `${name} = ${point.level}`));
      return { spec: "variants", title: `By ${name}`, datasets: { points: values, optimum }, words: { x: name, y: title(metric) } };
    });
  },
  curve(panel, metric) {
    const values = chosenPoints(panel, metric).map((point) => marked(point, metric, `probability ${point.level}`));
    return [{ spec: "curve", datasets: { points: values }, words: { x: "probability", y: `${metricOf(metric).name} probability` } }];
  },
  maps(panel) {
    const those = (metric) => chosenPoints(panel, metric).filter((point) => metric === "observed" || point.seeds === seeds);
    const seeds = Math.max(...panel.cells.seeds);
    const marks = (metric) => those(metric).map((point) => marked(point, metric, `probability ${point.level}`));
    const words = { x: "probability before calibration", y: "share of hits" };
    return [{ spec: "maps", datasets: { points: marks("calibrated"), observed: marks("observed") }, words }];
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

/** By method and severity. */
function grouped(those) {
  const groups = new Map();
  for (const point of those) {
    const key = `${point.series}/${point.level}`;
    groups.set(key, [...(groups.get(key) ?? []), point]);
  }
  return [...groups.values()];
}

/** One method at one severity, over the types of shift. */
function overTypes(those, metric) {
  const values = those.map((point) => point.mean[metric]).sort((a, b) => a - b);
  const at = (share) => {
    const place = share * (values.length - 1);
    const low = Math.floor(place);
    return values[low] + (place - low) * ((values[low + 1] ?? values[low]) - values[low]);
  };
  const [first] = those;
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const digits = metricOf(metric).digits;
  const range = values.length > 1 ? `, quartiles ${[0.25, 0.5, 0.75].map((share) => at(share).toFixed(digits)).join(", ")}` : "";
  const parts = { least: values[0], q25: at(0.25), median: at(0.5), q75: at(0.75), most: values.at(-1) };
  return { ...looks(first.series), level: first.level, value: mean, low: mean, high: mean, ...parts, where: `severity ${first.level}`, says: mean.toFixed(digits) + range };
}
