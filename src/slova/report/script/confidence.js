// What models say of a set, from histograms: reliability and how often each confidence is given.

/** What is shown of a panel, by the name of its chart. Other scripts may add kinds:
 *  isShown(panel): a filter of its histograms; controls(panel, changed): selects; titles(panel): what stands behind the
 *  two titles; lines(panel, shown) and caption(panel, lines): of the densities; outside(panel): where the histograms of
 *  out-of-distribution sets are. */
const KINDS = {
  own: {
    isShown: (panel) => (found) => found.test === panel.own,
    controls: () => [],
    titles: () => ["", ""],
    lines: fileLines,
    caption: fileCaption,
    outside: (panel) => panel,
  },
};
const kindOf = (panel) => KINDS[panel.chart] ?? KINDS.sets;
const isShown = (panel) => kindOf(panel).isShown(panel);
const ROOT = "The vertical axis is a square root, so that rare confidences can be seen.";

/** [{series, …histogram}] of the chosen methods, merged over whatever a filter lets through. */
function seen(panel, filter) {
  return chosen(panel).flatMap((index) => {
    const one = merged(histograms(panel).filter((found) => found.series === index && filter(found)));
    return one ? [{ index, ...one }] : [];
  });
}

function drawConfidence(panel, changed) {
  if (!show("part-confidence", Boolean(panel.histograms))) return;
  byId("part-confidence").querySelector(".controls").replaceChildren(...kindOf(panel).controls(panel, changed));
  fillConfidence(panel);
}

function fillConfidence(panel) {
  if (!panel.histograms) return;
  const kind = kindOf(panel);
  const part = byId("part-confidence");
  const shown = seen(panel, isShown(panel));
  const lacking = chosen(panel).filter((index) => !shown.some((one) => one.index === index));
  const absent = part.querySelector(".absent");
  absent.hidden = !lacking.length;
  absent.textContent = lacking.length ? `No histograms here of ${lacking.map((index) => data.series[index].name).join(", ")}.` : "";
  const diagonal = [{ confidence: 0, accuracy: 0 }, { confidence: 1, accuracy: 1 }];
  const curves = panel.reliability ? panel.reliability.filter((point) => panel.chosen.has(point.series)).map(intervalPoint) : shown.flatMap(reliability);
  draw(byId("chart-reliability"), "reliability", { points: curves, diagonal }, { label: "Reliability: accuracy against confidence" });
  const [first, second] = kind.titles(panel);
  byId("chart-reliability").previousElementSibling.textContent = `Reliability${first}`;
  byId("chart-density").previousElementSibling.textContent = `How often each confidence is given${second}`;
  const lines = kind.lines(panel, shown);
  draw(byId("chart-density"), "density", { points: lines.flatMap(density) }, { label: "How often each confidence is given" });
  byId("chart-density").parentElement.querySelector("figcaption").replaceChildren(...kind.caption(panel, lines));
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

/** The densities of files, of the last series that is chosen. */
function fileLines(panel) {
  const index = chosen(panel).at(-1);
  return panel.densities.flatMap(({ test, ...line }) => {
    const found = histograms(panel).find((one) => one.test === test && one.series === index);
    return found ? [{ ...found, look: { name: test, colour: line[theme()], dash: [1, 0], order: 0 } }] : [];
  });
}

/** A legend of the files, which the chips do not name. */
function fileCaption(panel, lines) {
  const legend = lines.map(({ look }) => el("li", {}, swatch({ ...look, [theme()]: look.colour }), look.name));
  const whose = panel.methods.length > 1 && chosen(panel).length ? `${data.series[chosen(panel).at(-1)].name}. ` : "";
  return [el("ul", { class: "legend" }, ...legend), whose + ROOT];
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
