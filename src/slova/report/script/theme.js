// Light and dark: as the system says, until the button is pressed. Charts take their colours from the style sheet.

const system = matchMedia("(prefers-color-scheme: dark)");
const theme = () => document.documentElement.dataset.theme;
const colour = (series) => series[theme()];

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const button = byId("theme");
  button.textContent = name === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to ${name === "dark" ? "light" : "dark"} colours`);
  button.setAttribute("aria-pressed", String(name === "dark"));
}

function startTheme(changed) {
  let own = false;
  setTheme(system.matches ? "dark" : "light");
  byId("theme").addEventListener("click", () => {
    own = true;
    setTheme(theme() === "dark" ? "light" : "dark");
    changed();
  });
  system.addEventListener("change", () => {
    if (own) return;
    setTheme(system.matches ? "dark" : "light");
    changed();
  });
}

/** How Vega draws everything that is not data. */
function chartConfig() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  const text = { labelColor: of("--muted"), titleColor: of("--ink"), labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };
  return {
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: { ...text, gridColor: of("--line"), domainColor: of("--line"), tickColor: of("--line"), labelPadding: 6, titlePadding: 10 },
    axisY: { labelLimit: innerWidth < 560 ? 120 : 240 },
    legend: { ...text },
    line: { strokeWidth: 2.5 },
    point: { size: 55, opacity: 1 },
    rule: { strokeWidth: 1.5 },
  };
}
