"use strict";

// el makes an element. Text is always set as text, never as HTML.
const el = (name, attrs, ...children) => {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return e;
};

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const number = (n) => (n < 100000 ? whole.format(n) : short.format(n));
const percent = (part, of) => (of ? `${Math.round((100 * part) / of)} %` : "–");
const perSecond = (n) => (n === null ? "–" : `${n && n < 10 ? n.toFixed(1) : number(Math.round(n))}/s`);
const seconds = (ns) => (ns ? (ns < 60e9 ? `${(ns / 1e9).toFixed(1)} s` : `${number(Math.round(ns / 60e9))} min`) : "–");
const state = (s) => [s.awake ? "awake" : "asleep", s.since ? el("div", { class: "why small" },
  [`since ${new Date(s.since).toLocaleString()}`, s.woken_by && `${s.awake ? "" : "last "}woken by ${s.woken_by}`].filter(Boolean).join(", ")) : ""];
const help = "https://github.com/slotsql/slotsql/blob/main/docs/troubleshooting.md";
const sum = (list, field) => list.reduce((n, s) => n + s[field], 0);

// trial tells the result of the last trial of slots.
const trial = (t) => (t ? [t.kept ? "kept" : "refused", el("div", { class: "why small" }, t.before || t.with
  ? `${number(Math.round(t.before))} increments/s before, ${number(Math.round(t.with))} with slots` : "too few increments to count")] : "–");

// Shares of statements: where increments have gone, and what drained.
const kinds = ["cold", "grouped", "slotted", "drained"];
const names = { cold: "alone on the base row, as written", grouped: "grouped on the base row", slotted: "in a slot", drained: "drains" };
const shares = (list) => ({ cold: sum(list, "cold"), grouped: sum(list, "grouped"), slotted: sum(list, "slotted"), drained: sum(list, "drains") });

const bar = (list) => {
  const s = shares(list);
  const all = kinds.reduce((n, k) => n + s[k], 0);
  const label = kinds.map((k) => `${k} ${number(s[k])}`).join(", ");
  const e = el("div", { class: "bar", role: "img", "aria-label": label, title: label });
  for (const k of kinds) {
    if (!s[k]) continue;
    const part = el("i", { class: k });
    part.style.flex = `${s[k] / all}`;
    e.append(part);
  }
  return e;
};

const key = (s) => [s.dialect, s.class, s.reason, s.scope, ...(s.tables || [s.table])].join("\0");

// rates compares with the report before: n(s) per second, or null for the first one.
const rates = (now, before, list) => {
  if (!before) return () => null;
  const time = (new Date(now.at) - new Date(before.at)) / 1000;
  const old = new Map((before[list] || []).map((s) => [key(s), s]));
  return (s, field) => {
    const was = old.get(key(s));
    return time > 0 ? Math.max(0, s[field] - (was ? was[field] : 0)) / time : null;
  };
};

// table makes a table of rows. A column is [heading, class, function of a row].
const table = (rows, columns, none) => {
  if (!rows.length) return el("div", { class: "card" }, el("p", { class: "none" }, none));
  const head = el("tr", {}, ...columns.map(([h, c]) => el("th", { scope: "col", class: c }, h)));
  const body = rows.map((r) => el("tr", {}, ...columns.map(([h, c, f]) => {
    const v = f(r);
    const cells = Array.isArray(v) ? v : [v];
    const zero = v === "0" || v === "0/s" || v === "–";
    return el("td", { class: zero ? `${c.replace(" bad", "")} zero` : c, "data-label": h }, ...cells);
  })));
  return el("div", { class: "card" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
};

const tile = (value, label, bad) => el("div", { class: bad ? "tile bad" : "tile" }, el("b", {}, value), el("span", {}, label));
const of = (list, dialect, name) => list.filter((s) => s.dialect === dialect && (s.tables || [s.table]).includes(name.split(".").pop().replace(/["`]/g, "")));

const tables = (r) => r.connectors.flatMap((c) => c.tables.map((t) => ({ ...t, connector: c,
  statements: of(r.statements, c.dialect, t.table), rollup: of(r.rollups, c.dialect, t.table)[0] })));

const tiles = (r, rate) => {
  const total = (field) => (r.statements.length && rate(r.statements[0], field) === null ? null : r.statements.reduce((n, s) => n + rate(s, field), 0));
  const s = shares(r.statements);
  const ran = s.cold + s.grouped + s.slotted;
  const lags = r.rollups.map((x) => x.lag_ns).filter(Boolean);
  const differences = sum(r.shadows, "differences");
  return el("section", { class: "tiles", "aria-label": "Summary" },
    tile(perSecond(total("statements")), "statements on counter tables"),
    tile(percent(s.cold, ran), "alone, as written"),
    tile(percent(s.grouped, ran), "grouped"),
    tile(percent(s.slotted, ran), "slotted"),
    tile(perSecond(total("drains")), "drains"),
    tile(number(sum(r.connectors.flatMap((c) => c.tables), "hot")), "hot rows now"),
    tile(number(r.connectors.flatMap((c) => c.tables).filter((t) => t.sleep.awake).length), "tables awake"),
    tile(lags.length ? seconds(Math.max(...lags)) : "–", "largest roll-up lag"),
    r.shadows.length ? tile(number(differences), "shadow differences", differences > 0) : "");
};

const legend = () => el("ul", { class: "legend" }, ...kinds.map((k) => el("li", {}, el("i", { class: k }), names[k])));

const statementColumns = (rate) => [
  ["Statement", "wide", (s) => [`${s.tables.join(", ") || "(other)"}: ${s.class}`,
    s.verdict ? el("div", { class: "why small" }, s.verdict) : "", ...(s.examples || []).map((x) => el("code", {}, x))]],
  ["Run", "n", (s) => number(s.statements)],
  ["Rate", "n", (s) => perSecond(rate(s, "statements"))],
  ["Alone", "n", (s) => number(s.cold)], ["Grouped", "n", (s) => number(s.grouped)], ["Slotted", "n", (s) => number(s.slotted)],
  ["Drains", "n", (s) => (s.drains ? [`${number(s.drains)} `, el("a", { href: help + "#many-drains" }, "what to do")] : "0")], ["Fallbacks", "n", (s) => number(s.fallbacks)],
];

const tableColumns = [
  ["Table", "", (t) => `${t.table} (${t.connector.dialect})`],
  ["Mode", "", (t) => t.mode],
  ["Storage", "", (t) => (t.slots ? `${t.slots} slots, ${t.layout}, ${t.placement}` : "no slots")],
  ["Increments and drains", "", (t) => bar(t.statements)],
  ["State", "", (t) => state(t.sleep)],
  ["Slots tried", "", (t) => trial(t.sleep.trial)],
  ["Observed reads", "n", (t) => number(t.sleep.observed)],
  ["Folded first", "n", (t) => number(t.sleep.folded_first)],
  ["Exact reads", "n", (t) => number(t.sleep.exact)],
  ["Hot rows", "n", (t) => number(t.hot)],
  ["Became hot", "n", (t) => number(sum(t.statements, "heated"))],
  ["Drains", "n", (t) => number(sum(t.statements, "drains"))],
  ["Lag", "n", (t) => (t.rollup ? seconds(t.rollup.lag_ns) : "–")],
];

const rollupColumns = [
  ["Table", "", (s) => `${s.table} (${s.dialect})`], ["Lag", "n", (s) => seconds(s.lag_ns)],
  ["Passes", "n", (s) => number(s.passes)], ["Moved", "n", (s) => number(s.moved)], ["Merged", "n", (s) => number(s.merged)],
  ["Deleted", "n", (s) => number(s.deleted)], ["Orphans", "n", (s) => number(s.orphans)], ["Skipped", "n", (s) => number(s.skipped)],
  ["Conflicts", "n", (s) => number(s.conflicts)], ["Errors", "n bad", (s) => number(s.errors)],
];

const leaseColumns = [
  ["Connector", "", (c) => c.dialect],
  ["Tables", "", (c) => c.tables.map((t) => t.table).join(", ")],
  ["Roll-up", "", (c) => (c.rollup ? "inside this process" : "elsewhere, or none")],
  ["Leased part of slots", "n", (c) => c.parts.map((p) => (p < 0 ? "none" : String(p))).join(", ")],
];

const shadowColumns = [
  ["Statement", "wide", (s) => [`${s.tables.join(", ") || "(other)"}: ${s.class}`,
    s.reason ? el("div", { class: "why small" }, [s.reason, s.scope].filter(Boolean).join("; ")) : "", s.why ? el("div", { class: "why small" }, `last not compared: ${s.why}`) : ""]],
  ["Run", "n", (s) => number(s.statements)], ["Compared", "n", (s) => number(s.compared)],
  ["Differences", "n bad", (s) => number(s.differences)], ["Behind", "n", (s) => number(s.behind)],
  ["Undecided", "n", (s) => number(s.undecided)], ["Not compared", "n", (s) => number(s.not_compared)], ["Failed", "n", (s) => number(s.failed)],
];

const render = (r, before) => {
  for (const list of ["connectors", "statements", "rollups", "shadows"]) r[list] ||= [];
  const rate = rates(r, before, "statements");
  const most = [...r.statements].sort((a, b) => b.statements - a.statements).slice(0, 100);
  document.getElementById("main").replaceChildren(
    tiles(r, rate),
    el("h2", {}, "Tables"), table(tables(r), tableColumns, "No connector of this process has connected yet."), legend(),
    el("h2", {}, "Statements"), table(most, statementColumns(rate), "No statement on a counter table has been run yet."),
    el("h2", {}, "Roll-up"), table(r.rollups, rollupColumns, "This process rolls nothing up. Another one may: slotsql status asks the database."),
    el("h2", {}, "Leases"), table(r.connectors, leaseColumns, "None."),
    ...(r.shadows.length ? [el("h2", {}, "Shadow"), table(r.shadows, shadowColumns, "")] : []));
};

const about = (r) => `process ${r.process.id} on ${r.process.host || "an unknown host"}, slotsql ${r.process.version}, since ${new Date(r.process.started).toLocaleString()}`;

const when = document.getElementById("when");
const pause = document.getElementById("pause");
let last = first;
let paused = false;

const tick = async () => {
  if (paused || document.hidden) return;
  try {
    const response = await fetch("?format=json", { cache: "no-store" });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const now = await response.json();
    render(now, last);
    last = now;
    when.textContent = `at ${new Date(now.at).toLocaleTimeString()}`;
    when.className = "";
  } catch (err) {
    when.textContent = `no answer since ${new Date(last.at).toLocaleTimeString()} (${err.message})`;
    when.className = "lost";
  }
};

pause.addEventListener("click", () => {
  paused = !paused;
  pause.textContent = paused ? "Go on" : "Pause";
  pause.setAttribute("aria-pressed", String(paused));
});
render(first, null);
document.getElementById("process").textContent = about(first);
when.textContent = `at ${new Date(first.at).toLocaleTimeString()}`;
setInterval(tick, 2000);
