// What methods say of a set, from histograms: reliability and how often each confidence is given.

/** The set that the histograms of the moment belong to, for each kind of panel. */
function isShown(panel) {
  if (panel.chart !== "severity") return (found) => found.test === panel.own && !found.shift;
  const level = Number(state.level);
  return (found) => found.level === level && (level === 0 || state.shift === ALL || found.shift === state.shift);
}

/** [{series, …histogram}] of the chosen methods, merged over whatever a filter lets through. */
function seen(panel, filter) {
  return chosen(panel).flatMap((index) => {
    const one = merged(histograms(panel).filter((found) => found.series === index && filter(found)));
    return one ? [{ index, ...one }] : [];
  });
}

function drawConfidence(panel, changed) {
  if (!show("part-confidence", Boolean(panel.histograms))) return;
  const part = byId("part-confidence");
  part.querySelector(".controls").replaceChildren(...confidenceControls(panel, changed));
  fillConfidence(panel);
}

function confidenceControls(panel, changed) {
  const pick = (name) => (value) => {
    state[name] = value;
    changed(name);
  };
  if (panel.chart === "severity") {
    const levels = [...new Set(panel.histograms.level)].sort((a, b) => a - b);
    if (!levels.map(String).includes(state.level)) state.level = String(levels[0]);
    const options = levels.map((level) => [level, level ? `${level}, ${state.shift === ALL ? "all types" : shiftName(state.shift)}` : "0, clean data"]);
    return [choice("Severity", options, state.level, pick("level"))];
  }
  const tests = panel.histograms.tests;
  if (!tests.includes(state.set)) state.set = tests.find((test) => test !== panel.own) ?? tests[0];
  return tests.length > 1 && panel.chart !== "own" ? [choice("Confidence on", tests.map((test) => [test, testName(test)]), state.set, pick("set"))] : [];
}

function fillConfidence(panel) {
  const part = byId("part-confidence");
  const shown = seen(panel, isShown(panel));
  const lacking = chosen(panel).filter((index) => !shown.some((one) => one.index === index));
  const absent = part.querySelector(".absent");
  absent.hidden = !lacking.length;
  absent.textContent = lacking.length ? `No histograms here of ${lacking.map((index) => data.series[index].name).join(", ")}.` : "";
  const diagonal = [{ confidence: 0, accuracy: 0 }, { confidence: 1, accuracy: 1 }];
  const curves = panel.reliability ? panel.reliability.filter((point) => panel.chosen.has(point.series)).map(intervalPoint) : shown.flatMap(reliability);
  draw(byId("chart-reliability"), "reliability", { points: curves, diagonal }, { label: "Reliability: accuracy against confidence" });
  const on = (test) => (panel.chart === "sets" ? ` on ${testName(test)}` : "");
  byId("chart-reliability").previousElementSibling.textContent = `Reliability${on(panel.own)}`;
  byId("chart-density").previousElementSibling.textContent = `How often each confidence is given${on(state.set)}`;
  const lines = densityLines(panel, shown);
  draw(byId("chart-density"), "density", { points: lines.flatMap(density) }, { label: "How often each confidence is given" });
  byId("chart-density").parentElement.querySelector("figcaption").replaceChildren(...densityCaption(panel, lines));
}

/** Accuracy and mean confidence in twenty bins. */
function reliability(one) {
  const rows = coarse(one.count);
  const errors = coarse(one.errors);
  return [...rows.keys()].filter((bin) => rows[bin]).map((bin) => {
    const confidence = (bin + one.middle[bin] / 1000) / COARSE;
    return reliabilityPoint(one.index, confidence, 1 - errors[bin] / rows[bin], rows[bin]);
  });
}

function reliabilityPoint(index, confidence, accuracy, rows) {
  const where = `confidence ${confidence.toFixed(3)}`;
  return { ...looks(index), confidence, accuracy, low: accuracy, high: accuracy, rows, where, says: `accuracy ${accuracy.toFixed(3)} of ${rows.toLocaleString("en")} rows` };
}

function intervalPoint({ series, confidence, accuracy, rows, low, high }) {
  const point = reliabilityPoint(series, confidence, accuracy, rows);
  return { ...point, low, high, says: `${point.says}, 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}` };
}

/** What the density shows: a method a line, or a file a line of one's own model, the last one that is chosen. */
function densityLines(panel, shown) {
  if (panel.chart === "own") {
    const index = chosen(panel).at(-1);
    return panel.densities.flatMap(({ test, ...line }) => {
      const found = histograms(panel).find((one) => one.test === test && one.series === index);
      return found ? [{ ...found, look: { name: test, colour: line[theme()], dash: [1, 0], order: 0 } }] : [];
    });
  }
  const those = panel.chart === "severity" ? shown : seen(panel, (found) => found.test === state.set);
  return those.map((one) => ({ ...one, look: looks(one.index) }));
}

/** Of one's own model the lines are files, which the chips do not name. */
function densityCaption(panel, lines) {
  const root = "The vertical axis is a square root, so that rare confidences can be seen.";
  if (panel.chart !== "own") return [root];
  const legend = lines.map(({ look }) => el("li", {}, swatch({ ...look, [theme()]: look.colour }), look.name));
  const whose = panel.methods.length > 1 && chosen(panel).length ? `${data.series[chosen(panel).at(-1)].name}. ` : "";
  return [el("ul", { class: "legend" }, ...legend), whose + root];
}

/** The share of rows in each fiftieth of the confidence. */
function density({ count, look }) {
  const rows = count.reduce((a, b) => a + b, 0);
  return Array.from({ length: BINS / 2 }, (_, bin) => {
    const value = (count[2 * bin] + count[2 * bin + 1]) / rows;
    const where = `confidence ${(bin / 50).toFixed(2)} to ${((bin + 1) / 50).toFixed(2)}`;
    return { ...look, confidence: (bin + 0.5) / 50, value, where, says: percent(value) };
  });
}
