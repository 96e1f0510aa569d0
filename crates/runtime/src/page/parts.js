/* The parts that all pages are made of. */

const byId = (id) => document.getElementById(id);
const element = (name, text, parent, kind = "") => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  parent?.append(made);
  return made;
};
const number = (count, one, many) => `${count} ${count === 1 ? one : many}`;
const percent = (share) => (share > 0 && share < 0.00005 ? "< 0.01" : (100 * share).toFixed(2)) + " %";
const shown = (text) => (text === "" ? "∅" : text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣"));
const parsed = (text) => {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error };
  }
};

/* The constraint, with places in it. */

let places = new Map();
// The constraint that is shown: what kind of it, `tab`, and its `text`.
let drawn = "";
const keyOf = ({ tab, text }) => JSON.stringify([tab, text]);
// The constraint that the ledger is of.
let explained = { tab: "", text: "" };
let ledger = [];
let providers = [];
// The length in one line, with a blank behind each comma and colon.
const lengthOf = (value) => JSON.stringify(value, null, 1).replace(/\n *([\]}])|([[{])\n */g, "$1$2").replace(/\n */g, " ").length;
// Writes JSON, and returns its places by their JSON Pointers. What fits into a line stands in one, and
// lists of plain values have as many in a line as fit.
function write(json, box, width) {
  const found = new Map();
  const put = (value, pointer, indent, used, parent) => {
    const place = element("span", undefined, parent);
    found.set(pointer, place);
    const entries = value !== null && typeof value === "object" ? Object.entries(value) : [];
    if (!entries.length) return place.append(JSON.stringify(value));
    const list = Array.isArray(value);
    const plain = list && value.every((inner) => inner === null || typeof inner !== "object");
    const flat = plain || used + lengthOf(value) <= width;
    place.append(list ? "[" : "{");
    let column = used + 1;
    entries.forEach(([key, inner], at) => {
      const below = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      column += plain ? lengthOf(inner) + 2 : 0;
      const fits = flat && (at === 0 || column <= width);
      if (!fits) column = indent.length + 4 + lengthOf(inner);
      place.append((at ? "," : "") + (fits ? (at ? " " : "") : `\n${indent}  `));
      if (!list) {
        element("span", JSON.stringify(key), place).dataset.key = below;
        place.append(": ");
      }
      put(inner, below, indent + "  ", flat ? -Infinity : indent.length + 2 + (list ? 0 : key.length + 4), place);
    });
    place.append((flat ? "" : "\n" + indent) + (list ? "]" : "}"));
  };
  put(json, "", "", 0, box);
  return found;
}
function pretty(value) {
  const box = element("pre");
  write(value, box, 54);
  return box.textContent;
}
// Draws what binds a text, and tells whether it was not there yet.
function drawWhere(source) {
  if (keyOf(source) === drawn) return false;
  drawn = keyOf(source);
  places = new Map();
  const box = byId("where");
  box.replaceChildren();
  const { value, error } = parsed(source.text);
  if ((source.tab === "schema" || source.tab === "tools") && !error) places = write(value, box, 46);
  else {
    source.text.split("\n").forEach((line, at) => {
      places.set(`line ${at + 1}`, element("span", line + "\n", box, "line"));
    });
  }
  colour();
  return true;
}
// Keywords that are not enforced look like it.
function colour() {
  for (const name of document.querySelectorAll("#where [data-key]")) {
    const entry = drawn === keyOf(explained) && ledger.find((one) => one.pointer === name.dataset.key);
    delete name.dataset.status;
    delete name.dataset.slip;
    name.removeAttribute("title");
    name.onclick = entry ? () => point(entry) : null;
    if (!entry || entry.status === "enforced") continue;
    name.dataset.status = entry.status;
    if (entry.suggestion) name.dataset.slip = "";
    name.title = reasonOf(entry);
  }
}
function mark(pointers) {
  for (const place of places.values()) delete place.dataset.here;
  const marked = pointers.map((pointer) => places.get(pointer)).filter((place) => place);
  for (const place of marked) place.dataset.here = "";
  // Places that hold others are seen anyway: the smallest place is brought into view.
  const smallest = marked.sort((a, b) => a.textContent.length - b.textContent.length)[0];
  const box = byId("where");
  if (smallest) box.scrollTop += smallest.getBoundingClientRect().top - box.getBoundingClientRect().top - 60;
}

/* The fate of each keyword. */

const STATUSES = ["refused", "loosened", "narrowed", "annotation", "enforced"];
const countOf = (status) => ledger.filter((entry) => entry.status === status).length;
const reasonOf = (entry) => [entry.reason, entry.suggestion && `unknown; did you mean ${entry.suggestion}?`].filter((part) => part).join("; ");
function verdict() {
  const slips = ledger.filter((entry) => entry.suggestion).length;
  const told = STATUSES.filter(countOf).reverse().map((status) => `${status} ${countOf(status)}`);
  const slip = slips ? ` ${number(slips, "is perhaps a slip", "are perhaps slips")}.` : "";
  return told.length ? `Accepted. Keywords: ${told.join(", ")}.${slip}` : "Accepted.";
}
function writeLedger() {
  const table = byId("ledger");
  table.replaceChildren();
  byId("counts").replaceChildren();
  for (const status of STATUSES.toReversed()) if (countOf(status)) element("span", `${status} ${countOf(status)}`, byId("counts")).dataset.status = status;
  if (!ledger.length) {
    const none = explained.tab === "schema" || explained.tab === "tools" ? "There is nothing to tell yet." : "Only schemas have keywords.";
    byId("counts").append(none);
    return;
  }
  const head = element("tr", undefined, table);
  for (const name of ["place", "status", "why"]) element("th", name, head).scope = "col";
  // Keywords that are not enforced come first.
  const order = (entry) => (entry.suggestion ? -1 : STATUSES.indexOf(entry.status));
  for (const entry of ledger.toSorted((a, b) => order(a) - order(b))) {
    const row = element("tr", undefined, table);
    row.dataset.pointer = entry.pointer;
    const place = element("button", entry.pointer ? "" : "(the whole schema)", element("td", undefined, row), "plain");
    entry.pointer.split(/(?=\/)/).forEach((part) => place.append(part, document.createElement("wbr")));
    place.onclick = () => point(entry);
    element("td", entry.status, row).dataset.status = entry.status;
    element("td", reasonOf(entry), row);
  }
}
const FATES = ["refused", "lost", "changed", "undocumented"];
// Writes a text whose names stand between backticks.
function quote(text, parent) {
  text.split("`").forEach((piece, at) => (at % 2 ? element("code", piece, parent) : parent.append(piece)));
}
// Each provider's keywords that it does not take as they stand; those that differ in their places alone are one.
function writeProviders() {
  const box = byId("providers");
  box.replaceChildren();
  byId("elsewhere").hidden = !providers.length;
  for (const { provider, findings } of providers) {
    const part = element("div", undefined, box);
    element("h3", provider.name, part);
    const counts = element("p", undefined, part, "names");
    for (const fate of FATES) {
      const count = findings.filter((found) => found.fate === fate).length;
      if (count) element("span", `${fate} ${count}`, counts).dataset.status = fate;
    }
    if (!findings.length) element("span", "taken as it is written", counts).dataset.status = "enforced";
    const list = element("ul", undefined, part);
    for (const same of Object.values(Object.groupBy(findings, (found) => found.keyword + "\n" + found.why))) {
      const [first] = same;
      const row = element("li", undefined, list);
      element("b", first.fate, row).dataset.status = first.fate;
      row.append(" ");
      same.slice(0, 3).forEach((found, at) => {
        if (at) row.append(", ");
        const place = element("button", undefined, row, "plain");
        const code = element("code", undefined, place);
        (found.pointer || "(the whole schema)").split(/(?=\/)/).forEach((piece) => code.append(piece, document.createElement("wbr")));
        place.onclick = () => point({ pointer: found.pointer, status: found.fate, reason: found.why });
      });
      const more = same.length > 3 ? ` and ${same.length - 3} more` : "";
      quote(`${more}: ${first.keyword ? "`" + first.keyword + "`: " : ""}${first.why}${first.write ? "; instead: " + first.write : ""}`, row);
    }
    quote(provider.note, element("p", undefined, part, "soft"));
    const source = element("p", "After ", part, "soft");
    const link = element("a", new URL(provider.page).host, source);
    Object.assign(link, { href: provider.page, rel: "noreferrer", target: "_blank" });
    quote(`, ${provider.read}.`, source);
  }
}
function point(entry) {
  drawWhere(explained);
  mark([entry.pointer]);
  byId("why").textContent = `#${entry.pointer}: ${entry.status}${reasonOf(entry) ? ": " + reasonOf(entry) : ""}`;
  byId("where").scrollIntoView({ block: "nearest" });
}
