// What only the page of the comparison has: the choice of an experiment, claims, ranks, tables, records of runs.

current = () => panelOf(state.experiment, state.on);
first = () => {
  const chosen = data.panels.find((panel) => `#${panel.id}` === location.hash);
  const panel = chosen ?? data.panels.find((one) => !one.missing) ?? data.panels[0];
  Object.assign(state, { on: panel.on, experiment: panel.experiment });
  drawRuns();
};
parts.unshift(
  { draw: drawChoice, always: true },
  { draw: drawFindings, always: true },
  { draw: drawMetric, fill: fillMetric },
  { draw: drawRanks, fill: drawRanks },
);
parts.push({ draw: drawTables, always: true });

function drawChoice() {
  const label = document.activeElement?.closest("label")?.firstChild?.textContent;
  if (!show("choice", data.panels.length > 1)) return;
  const move = (name) => (value) => {
    state[name] = value;
    history.replaceState(null, "", `#${current().id}`);
    drawPanel();
  };
  const mark = (experiment) => (panelOf(experiment, state.on).missing ? " (not run)" : "");
  const experiments = data.experiments.map(([name, title]) => [name, title + mark(name)]);
  const sets = data.sets.map(({ on, name }) => [on, name]);
  const controls = [choice("Experiment", experiments, state.experiment, move("experiment"))];
  if (sets.length > 1) controls.unshift(choice("Trained on", sets, state.on, move("on")));
  byId("choice").replaceChildren(...controls);
  keepFocus(label);
}

/** Those of this experiment and training set, or of all training sets together; many are folded away. */
function drawFindings(panel) {
  const all = [...document.querySelectorAll(".claims li")];
  const fits = ({ dataset }) => dataset.experiment === panel.experiment && [panel.on, ""].includes(dataset.on);
  for (const claim of all) claim.hidden = !fits(claim);
  const verdicts = all.filter(fits).map((claim) => claim.querySelector(".verdict").textContent);
  const there = (data.verdicts ?? []).filter((verdict) => verdicts.includes(verdict));
  const counts = there.map((verdict) => `${verdicts.filter((one) => one === verdict).length} ${verdict}`);
  byId("verdicts").textContent = `: ${counts.join(", ")}`;
  byId("claims").open = verdicts.length <= (innerWidth < 560 ? 1 : 6);
  show("claims", verdicts.length > 0);
}

function drawRanks(panel) {
  const found = panel.ranks?.[state.metric];
  if (!show("part-ranks", Boolean(found))) return;
  const points = found.ranks.map(([index, rank]) => ({ ...looks(index), value: rank, where: `${found.cells} sets`, says: rank.toFixed(2) }));
  const [value, high] = found.band;
  const band = [{ value, high, colour: colour(data.series[found.control]) }];
  const words = { label: `Mean ranks by ${data.metrics[state.metric].name}`, height: 22 * points.length };
  draw(byId("chart-ranks"), "ranks", { points, band }, words);
  byId("part-ranks").querySelector("figcaption").textContent = found.caption;
}

function drawTables(panel) {
  const those = data.tables.filter((one) => one.experiment === panel.experiment && (!one.on || one.on === panel.on));
  const folded = those.map((content, place) => foldedTable(content, place === 0 && !content.aside));
  if (panel.cells) folded.push(el("details", {}, el("summary", {}, "All cells"), cellsButton(panel)));
  byId("part-tables").querySelector(".tables").replaceChildren(...folded);
  show("part-tables", folded.length > 0);
}

/** Who made the rows, once for the whole page. */
function drawRuns() {
  if (!show("part-record", Boolean(data.runs))) return;
  byId("part-record").querySelector(".tables").replaceChildren(table(data.runs), foot(data.runs));
}

/** A table that opens on demand, with its notes and a button to save it. */
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

