// Puts the page together: what is drawn first, and again when something is chosen. Other scripts may add parts before
// `begin` is called.

let current = () => data.panels[0];
let first = () => {};

/** draw(panel, redraw): controls and numbers; fill(panel): the numbers of other methods; always: without rows, too. */
const parts = [
  { draw: drawSummary },
  { draw: drawConfidence, fill: fillConfidence },
  { draw: drawReject, fill: fillReject },
  { draw: drawDetails },
];

function drawPanel() {
  const panel = current();
  byId("panel-title").textContent = panel.heading;
  byId("panel-about").textContent = panel.about;
  const notices = [panel.missing, ...(panel.notices ?? [])].filter(Boolean);
  byId("notices").replaceChildren(...notices.map((sentence) => el("p", { class: "notice" }, sentence)));
  if (panel.missing) for (const part of document.querySelectorAll(".part:not(.lasting), #methods")) part.hidden = true;
  else drawMethods(panel, fill);
  for (const part of parts) if (!panel.missing || part.always) part.draw(panel, redraw);
}

/** Other methods: the same controls, other numbers. */
function fill() {
  for (const part of parts) part.fill?.(current());
}

/** Another metric, shift or severity: controls may depend on each other. The keyboard stays where it was. */
function redraw() {
  const label = document.activeElement?.closest("label")?.firstChild?.textContent;
  for (const part of parts) if (part.fill) part.draw(current(), redraw);
  keepFocus(label);
}

function keepFocus(label) {
  const same = [...document.querySelectorAll("label.control")].find((node) => label && node.firstChild.textContent === label);
  same?.querySelector("select").focus();
}

function drawSummary(panel) {
  drawTables("part-summary", panel.summary);
}

function drawDetails(panel) {
  drawTables("part-details", panel.details);
}

function drawTables(id, tables) {
  if (!show(id, Boolean(tables?.length))) return;
  byId(id).replaceChildren(...tables.flatMap((content) => [el("h3", {}, content.title), table(content), foot(content)]));
}

function begin() {
  first();
  startTheme(() => drawPanel());
  startReject(() => current());
  drawPanel();
}
