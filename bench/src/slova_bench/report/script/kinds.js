// What each kind of experiment shows of confidence: shifted sets by severity, others by test set.

const pick = (name, changed) => (value) => {
  state[name] = value;
  changed();
};

KINDS.severity = {
  isShown() {
    const level = Number(state.level);
    return (found) => found.level === level && (level === 0 || state.shift === ALL || found.shift === state.shift);
  },
  controls(panel, changed) {
    const levels = [...new Set(panel.histograms.level)].sort((a, b) => a - b);
    if (!levels.map(String).includes(state.level)) state.level = String(levels[0]);
    const types = state.shift === ALL ? "all types" : shiftName(state.shift);
    const options = levels.map((level) => [level, level ? `${level}, ${types}` : "0, clean data"]);
    return [choice("Severity", options, state.level, pick("level", changed))];
  },
  titles: () => ["", ""],
  lines: (panel, shown) => shown.map((one) => ({ ...one, look: looks(one.index) })),
  caption: () => [ROOT],
  outside: (panel) => panelOf("ood", panel.on),
};

KINDS.sets = {
  isShown: (panel) => (found) => found.test === panel.own && !found.shift,
  controls(panel, changed) {
    const tests = panel.histograms.tests;
    if (!tests.includes(state.set)) state.set = tests.find((test) => test !== panel.own) ?? tests[0];
    return tests.length > 1 ? [choice("Confidence on", tests.map((test) => [test, testName(test)]), state.set, pick("set", changed))] : [];
  },
  titles: (panel) => [panel.own, state.set].map((test) => ` on ${testName(test)}`),
  lines: (panel) => seen(panel, (found) => found.test === state.set).map((one) => ({ ...one, look: looks(one.index) })),
  caption: () => [ROOT],
  outside: (panel) => panel,
};
