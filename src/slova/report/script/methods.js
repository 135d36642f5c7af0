// Which methods are drawn: a chip each, which is the legend of all charts at the same time. Of one's own model, before and
// after calibration.

const FEW = 6;

/** The methods chosen in a panel, by their number: all if they are few, else those the page opens with. */
function chosen(panel) {
  if (!panel.chosen) {
    const first = panel.methods.filter((index) => data.series[index].chosen);
    panel.chosen = new Set(panel.methods.length <= FEW || !first.length ? panel.methods : first);
  }
  return panel.methods.filter((index) => panel.chosen.has(index));
}

function drawMethods(panel, changed) {
  if (!show("methods", panel.methods.length > 1)) return;
  const fieldset = byId("methods");
  const [, chips, buttons] = fieldset.children;
  const set = (found) => {
    panel.chosen = new Set(found);
    drawMethods(panel, changed);
    changed();
  };
  const focused = document.activeElement?.textContent;
  chips.replaceChildren(...panel.methods.map((index) => chip(panel, index, changed)));
  const all = el("button", { type: "button", onclick: () => set(panel.methods) }, "All");
  const none = el("button", { type: "button", onclick: () => set([]) }, "None");
  buttons.replaceChildren(all, none);
  [all, none].find((button) => button.textContent === focused)?.focus();
}

function chip(panel, index, changed) {
  const series = data.series[index];
  const toggle = (event) => {
    panel.chosen[event.target.checked ? "add" : "delete"](index);
    changed();
  };
  const box = el("input", { type: "checkbox", checked: chosen(panel).includes(index), onchange: toggle });
  return el("label", { class: "chip" }, box, swatch(series), series.name);
}
