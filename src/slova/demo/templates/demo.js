// Pictures with the answers of each network. Numbers are Python's; here a threshold decides between a digit and NONE.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const state = { way: 0, level: data.promise, strength: 3, get setting() { return this.way * data.risks.length + this.level; } };
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") node.style.cssText = value;
    else if (name === "oninput") node.oninput = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function canvas(pixels) {
  const bytes = Uint8Array.from(atob(pixels), (letter) => letter.charCodeAt(0));
  const side = Math.sqrt(bytes.length);
  const node = el("canvas", { width: side, height: side, role: "img" });
  const image = new ImageData(side, side);
  bytes.forEach((value, place) => image.data.set([value, value, value, 255], 4 * place));
  node.getContext("2d").putImageData(image, 0, 0);
  return node;
}

/** What a network says: a digit or NONE, whether that is right, and why it refuses. */
function said(answer, model, truth) {
  const [top, confidence, none, ambiguous] = answer;
  const threshold = data.thresholds[model][state.setting];
  const answered = threshold !== null && confidence >= threshold;
  const label = answered ? String(top) : "NONE";
  const why = answered ? `confidence ${percent(confidence)}` : none > ambiguous ? `nothing fits, ${percent(none)}` : `several fit, ${percent(ambiguous)}`;
  const verdict = answered ? (top === truth ? "right" : "wrong") : truth < 0 ? "right" : "refused";
  return { label, why, verdict, threshold };
}

function answerNode(answer, model, truth) {
  const found = said(answer, model, truth);
  const [, confidence, none, ambiguous] = answer;
  const mark = { right: "✓", wrong: "✗ wrong", refused: "" }[found.verdict];
  const parts = Object.entries({ confidence, ambiguous, none }).map(([name, share]) => el("span", { class: name, style: `width:${100 * share}%` }));
  const limit = found.threshold === null ? [] : [el("span", { class: "limit", style: `left:calc(${100 * found.threshold}% - 2px)` })];
  const spoken = `confidence ${percent(confidence)}, ambiguous ${percent(ambiguous)}, none ${percent(none)}`;
  return el("div", { class: `answer ${found.verdict}`, "data-model": data.models[model].name },
    el("span", { class: "who" }, data.models[model].name),
    el("span", { class: "what" }, el("b", {}, found.label), el("span", {}, found.why), el("span", { class: "mark" }, mark)),
    el("div", { class: "bar", role: "img", "aria-label": spoken, title: spoken }, ...parts, ...limit));
}

function card(picture) {
  const answers = picture.answers.map((answer, model) => answerNode(answer, model, picture.truth));
  const truth = picture.truth < 0 ? "truth: NONE" : `truth: ${picture.truth}`;
  const node = canvas(picture.pixels);
  node.setAttribute("aria-label", `a picture, ${truth}`);
  return el("article", { class: "card" }, el("figure", {}, node, el("figcaption", {}, truth)), el("div", {}, ...answers));
}

const shown = (group) => (group.name === "shifted" ? { ...data.strengths[state.strength], title: `Shifted digits, strength ${state.strength}` } : group);
const draw = (id, pictures) => byId(id).replaceChildren(...pictures.map(card));

/** Per network: how many of its answers to the mix are wrong, and what it answers and refuses. */
function tile(model, place) {
  const [answered, wrong] = data.mix[place][state.setting];
  const kept = wrong <= data.risks[state.level];
  const refused = data.groups.filter((group) => !group.known).map((group) => `${percent(1 - group.shares[place][state.setting][0])} of ${group.title.toLowerCase()}`);
  const clean = percent(data.groups[0].shares[place][state.setting][0]);
  const sentence = data.thresholds[place][state.setting] === null
    ? `It cannot guarantee this with so few pictures. The least risk it can guarantee is ${percent(data.least[place], 1)}.`
    : `Threshold ${percent(data.thresholds[place][state.setting], 1)}. It answers ${clean} of digits 0 to 7, and refuses ${refused.join(", ")}.`;
  return el("article", { class: `tile ${kept ? "right" : "wrong"}`, "data-model": model.name }, model.name,
    el("b", {}, answered ? `${percent(wrong, 1)} of answers wrong` : "refuses everything"), el("p", { class: "about" }, sentence));
}

function confidences() {
  const heads = data.models.map((model) => el("th", { scope: "col" }, el("span", {}, model.name)));
  const cell = (group, place) => el("td", {}, `${(100 * group.confidence[place]).toFixed(1)}, right ${(100 * group.accuracy[place]).toFixed(1)}`);
  tableIn("confidences", "Confidence and accuracy", heads, data.groups.map(shown).map((group) => [group, data.models.map((_, place) => cell(group, place))]));
}

function tableIn(id, name, heads, rows, last = []) {
  const body = rows.map(([group, cells]) => el("tr", { "data-group": group.name }, el("th", { scope: "row" }, group.title), ...cells));
  const whole = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", {}, "Pictures")), ...heads)), el("tbody", {}, ...body, ...last));
  byId(id).replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, whole));
}

function shares() {
  const heads = data.models.map((model) => el("th", { scope: "col" }, el("span", {}, model.name)));
  const cell = ([answered, wrong]) => el("td", {}, `${(100 * answered).toFixed(1)}, wrong ${(100 * wrong).toFixed(1)}`);
  const mix = data.mix.map((each) => el("td", {}, each[state.setting][0] ? `${(100 * each[state.setting][1]).toFixed(1)} of 100 answers` : "no answers"));
  const last = el("tr", { "data-group": "mix" }, el("th", { scope: "row" }, `All, promised ${percent(data.risks[state.level], 1)}`), ...mix);
  tableIn("shares", "Answered and wrong", heads, data.groups.map(shown).map((group) => [group, group.shares.map((each) => cell(each[state.setting]))]), [last]);
}

function verdicts() {
  const titles = { better: "slova is better", unclear: "No clear difference", worse: "slova is worse" };
  const found = data.verdicts[state.setting];
  const list = (sentences) => sentences.length ? el("ul", {}, ...sentences.map((sentence) => el("li", {}, sentence))) : el("p", { class: "about" }, "Nothing in this run.");
  const block = (told) => Object.entries(titles).map(([name, title]) => el("div", { "data-verdict": name }, el("h4", {}, title), list(told[name])));
  byId("verdicts").replaceChildren(...Object.entries(found).map(([rival, told]) => el("div", { "data-rival": rival }, el("h3", {}, `Against ${rival}`), el("div", { class: "verdicts" }, ...block(told)))));
}

function strength() {
  const group = data.strengths[state.strength];
  byId("strength-value").textContent = state.strength;
  draw("cards-shifted", group.pictures);
  const each = data.models.map((model, place) => `${model.name}: ${percent(group.accuracy[place])} right, mean confidence ${percent(group.confidence[place])}`);
  byId("shift-says").textContent = `Of the ${group.rows} digits at this strength, without a threshold. ${each.join("; ")}.`;
}

function update() {
  byId("risk-value").textContent = percent(data.risks[state.level], 1);
  draw("first", data.groups.filter((group) => !group.known).map((group) => group.pictures[0]));
  for (const group of data.groups) if (group.name !== "shifted") draw(`cards-${group.name}`, group.pictures);
  strength();
  byId("tiles").replaceChildren(...data.models.map(tile));
  shares();
  confidences();
  verdicts();
}

function section(group) {
  const parts = [el("h2", {}, group.title), el("p", { class: "about" }, group.about)];
  if (group.name === "shifted") {
    const input = el("input", { type: "range", id: "strength", min: 0, max: data.strengths.length - 1, step: 1, oninput: (event) => { state.strength = Number(event.target.value); strength(); shares(); confidences(); } });
    input.value = state.strength;
    parts.push(el("div", { class: "slider" }, el("label", { for: "strength" }, "Strength of the shift: ", el("output", { id: "strength-value", for: "strength" })), input), el("p", { id: "shift-says", class: "says", role: "status" }));
  }
  return el("section", {}, ...parts, el("div", { class: "cards", id: `cards-${group.name}` }));
}

byId("groups").append(...data.groups.map(section));
byId("models").append(...data.models.map((model) => el("li", {}, el("b", {}, model.name), `: ${model.about}`)));
byId("facts").append(...data.facts.map((fact) => el("li", {}, fact)));
byId("commands").append(...data.commands.flatMap(([command, what]) => [el("dt", {}, el("code", {}, command)), el("dd", {}, what)]));
byId("risk").max = data.risks.length - 1;
byId("risk").value = state.level;
for (const input of document.getElementsByName("way")) input.onchange = () => { state.way = Number(input.value); update(); };
byId("risk").oninput = (event) => { state.level = Number(event.target.value); update(); };
update();
