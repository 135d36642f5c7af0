// One chart in one element: drawn anew when its specification changes, and else only given other data.

const drawn = new Map(); // element -> {key, view, queue}
const ERRORS_ONLY = 1; // of the log levels of Vega, which warns of every axis without data

function draw(element, name, datasets, words = {}) {
  const known = drawn.get(element) ?? { queue: Promise.resolve() };
  drawn.set(element, known);
  const key = JSON.stringify([name, words, theme(), Object.keys(datasets)]);
  known.wanted = { key, name, datasets, words };
  known.queue = known.queue.then(() => settle(element, known)).catch((error) => console.error(error));
}

/** Does what was wanted last; what was wanted in between is never drawn. */
async function settle(element, known) {
  const { wanted } = known;
  if (!wanted || !element.isConnected) return;
  known.wanted = null;
  if (known.key === wanted.key) {
    for (const [name, values] of Object.entries(wanted.datasets)) known.view.data(name, values);
    await known.view.resize().runAsync();
    return;
  }
  known.view?.finalize();
  element.style.minHeight = `${element.offsetHeight}px`;
  const options = { ast: true, renderer: "svg", actions: false, logLevel: ERRORS_ONLY, config: chartConfig() };
  const { view } = await vegaEmbed(element, specification(wanted), options);
  element.style.minHeight = "";
  Object.assign(known, { key: wanted.key, view });
}

function specification({ name, datasets, words }) {
  const style = getComputedStyle(document.documentElement);
  const all = { ink: style.getPropertyValue("--ink").trim(), muted: style.getPropertyValue("--muted").trim(), ...words };
  const filled = JSON.stringify(data.charts[name], (_, value) =>
    typeof value === "string" && value.startsWith("$") && value.slice(1) in all ? all[value.slice(1)] : value,
  );
  const spec = JSON.parse(filled);
  spec.datasets = datasets;
  spec.autosize = { type: "fit-x", contains: "padding" };
  if (words.height) spec.height = words.height;
  spec.description = words.label ?? "";
  return spec;
}

/** What every mark of a method carries. */
function looks(index) {
  const series = data.series[index];
  return { name: series.name, colour: colour(series), dash: series.dash, solid: series.dash[1] ? 0.4 : 1, order: index };
}
