/* The steps of a text: a token each, why it could come, and where the text stands. */

let steps = [];
let current = -1;
// The constraint that bound the text: its `tab` and `text`; the `tools` in it, and the place of the schema for an `answer` beside them.
let bound = null;
// True as long as the newest step is shown.
let followed = true;

const ENDED = {
  EndToken: "the model ended it", StopToken: "a stop token ended it", StopString: "a stop string ended it",
  Complete: "nothing but its end was left", Length: "it came to the most tokens", Context: "the model's context is full",
  Stopped: "it was stopped",
};
function addStep(step) {
  const at = steps.push(step) - 1;
  // The constraint may allow a token that would leave no room for the rest.
  const likeliest = step.before?.[0]?.token;
  const left = likeliest !== undefined && !step.after?.some((one) => one.token === likeliest);
  if (left) step.refused ??= "the text would not be whole within the most tokens";
  const kind = step.forced ? "forced" : step.refused != null ? "refused" : "drawn";
  const token = element("span", step.text.replaceAll("\n", "⏎\n") || "·", byId("text"), kind);
  token.id = "step-" + at;
  token.dataset.step = at;
  token.setAttribute("role", "option");
  token.setAttribute("aria-selected", "false");
  const bar = element("i", undefined, byId("strip"), kind);
  bar.dataset.bar = at;
  bar.style.height = 100 * (step.forced ? 1 : step.mass ?? 1) + "%";
  if (step.mass != null) byId("strip-part").hidden = false;
}
function meter(parent, share) {
  const bar = element("span", undefined, parent, "meter");
  element("i", undefined, bar).style.width = 100 * share + "%";
}
function go(at, byHand = true) {
  if (!steps.length) return;
  if (byHand) followed = false;
  if (current >= 0) {
    byId("step-" + current)?.setAttribute("aria-selected", "false");
    delete byId("strip").children[current]?.dataset.here;
  }
  current = Math.max(0, Math.min(steps.length - 1, at));
  const token = byId("step-" + current);
  token.setAttribute("aria-selected", "true");
  byId("text").setAttribute("aria-activedescendant", token.id);
  byId("strip").children[current].dataset.here = "";
  byId("back").disabled = current === 0;
  byId("on").disabled = current === steps.length - 1;
  byId("count").textContent = `step ${current + 1} of ${steps.length}`;
  const step = steps[current];
  byId("reading").textContent = step.reading ?? "";
  writeStep(step);
  drawWhere(bound);
  byId("why").textContent = bound.tab === "grammar" && step.at ? step.at.join("\n") : "";
  mark(placesOf(step));
}
function writeStep(step) {
  const panel = byId("step");
  panel.replaceChildren();
  const head = element("div", undefined, panel);
  element("p", shown(step.text), head, "token").title = `token ${step.token}`;
  const right = () => `Put right by the mask: the model alone would have said ${shown(step.likeliest)}.`;
  const drawn = step.refused != null ? right() : "Drawn by the model.";
  element("p", step.forced ? "Forced: nothing else could come, so the model was not asked." : drawn, head, "soft");
  if (step.refused != null) element("p", step.refused, panel, "bad").dataset.row = "refused";
  if (step.mass != null) {
    const mass = element("div", undefined, panel, step.mass < 0.5 ? "wide out" : "wide after");
    element("p", `${percent(step.mass)} of the model's own probability lies on allowed tokens.`, mass, "soft");
    meter(mass, step.mass);
  }
  if (step.allowed != null) {
    const allowed = element("div", undefined, panel);
    element("p", `${step.allowed} of ${step.width} tokens are allowed.`, allowed, "soft");
    if (step.kinds) kinds(step.kinds, allowed);
  }
  if (step.before?.length) odds(step, panel);
  if (step.completion == null) return;
  const end = element("p", "Shortest way to the end: ", panel, "soft");
  element("code", step.completion || "it may end here", end);
}
const KINDS = {
  letters: ["letters", "#36c"], digits: ["digits", "#2a7"], marks: ["marks", "#c63"], blanks: ["white space", "#999"],
  mixed: ["mixed", "#84c"], specials: ["special tokens", "#c39"], ends: ["end of text", "#c33"],
};
function kinds(counts, parent) {
  const strip = element("div", undefined, parent, "kinds");
  const names = element("div", undefined, parent, "names");
  for (const [kind, count] of Object.entries(counts)) {
    if (!count) continue;
    const [name, colour] = KINDS[kind] ?? [kind, "#888"];
    const part = element("i", undefined, strip);
    part.style.flexGrow = count;
    part.style.background = colour;
    const entry = element("span", undefined, names);
    entry.dataset.kind = kind;
    element("b", undefined, entry).style.background = colour;
    entry.append(`${name} ${count}`);
  }
}
// The likeliest tokens, a row each, before and after the mask.
function odds(step, parent) {
  const table = element("table", undefined, parent, "odds");
  const head = element("tr", undefined, table);
  for (const name of ["token", "before the mask", "after the mask"]) element("th", name, head).scope = "col";
  const after = new Map((step.after ?? []).map((one) => [one.token, one]));
  const before = new Map(step.before.map((one) => [one.token, one]));
  const rows = [...before.values(), ...[...after.values()].filter((one) => !before.has(one.token))];
  const label = (one) => one.label ?? shown(one.text);
  const least = percent(step.before.at(-1).probability).replace("< ", "");
  for (const one of rows) {
    const row = element("tr", undefined, table);
    row.dataset.token = one.token;
    if (one.token === step.token) row.dataset.chosen = "";
    const alike = rows.some((other) => other !== one && label(other) === label(one));
    element("td", label(one) + (alike ? " #" + one.token : ""), row).title = `token ${one.token}`;
    const [was, is] = [before.get(one.token), after.get(one.token)];
    const left = element("td", undefined, row);
    meter(left, was ? was.probability : 0);
    // A token that is not listed is less likely than the last that is.
    left.append(was ? percent(was.probability) : `< ${least}`);
    const right = element("td", undefined, row, "after");
    if (is) meter(right, is.probability);
    else row.className = "out";
    right.append(is ? percent(is.probability) : "not allowed");
  }
}
// A tool of a list: its name, what is inside of its wrapping, and the place of the rule for its input.
function toolAt(tool, at) {
  const member = ["function", "custom"].find((name) => tool?.[name] && typeof tool[name] === "object");
  const inside = (member ? tool[member] : tool) ?? {};
  const rule = tool?.type === "custom" ? "format" : "parameters";
  return { name: String(inside.name ?? `tool ${at}`), inside, place: `/${at}${member ? "/" + member : ""}/${rule}` };
}
function placesOf(step) {
  const at = step.at ?? [];
  if (bound.tab === "schema") return at;
  const before = steps.slice(0, current).map((one) => one.text).join("");
  if (bound.tab === "tools") {
    // The places are in the parameters of the tool that was named last.
    const found = bound.tools.map((tool) => [before.lastIndexOf(tool.name), tool]).filter(([where]) => where >= 0);
    const [, tool] = found.sort(([a, one], [b, other]) => b - a || other.name.length - one.name.length)[0] ?? [];
    const place = tool?.place ?? bound.answer;
    return place === undefined ? [] : at.map((pointer) => place + pointer);
  }
  const rows = bound.text.split("\n");
  const numbers = (fits) => rows.flatMap((row, index) => (fits(row.trim()) ? [`line ${index + 1}`] : []));
  if (bound.tab === "grammar") {
    // An alternative without a line is found by the rule that comes next in it.
    const next = (place) => /• ([\w-]+)/.exec(place)?.[1];
    const defines = (row, name) => /^[?!]*([\w-]+)(\.\d+)?\s*(::=|:|=)/.exec(row)?.[1] === name;
    return at.flatMap((place) => /line \d+/.exec(place) ?? numbers((row) => defines(row, next(place))));
  }
  // The answers that begin with what was said.
  return bound.tab === "choice" ? numbers((row) => row && row.startsWith(before)) : [];
}

byId("back").onclick = () => go(current - 1);
byId("on").onclick = () => go(current + 1);
byId("text").onclick = (event) => event.target.dataset.step && go(Number(event.target.dataset.step));
byId("strip").onclick = (event) => event.target.dataset.bar && go(Number(event.target.dataset.bar));
document.addEventListener("keydown", (event) => {
  const inText = byId("text").contains(event.target);
  const free = inText || event.target === document.body || event.target === byId("back") || event.target === byId("on");
  const to = { ArrowLeft: current - 1, ArrowRight: current + 1, ...(inText && { Home: 0, End: steps.length - 1 }) }[event.key];
  if (!free || to === undefined || !steps.length || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  go(to);
});
