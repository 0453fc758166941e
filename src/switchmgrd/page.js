// SPDX-License-Identifier: BSD-3-Clause
// The page of the fabric.  What comes from the network is only ever put in as
// text (textContent, setAttribute), never as markup.
"use strict";
(() => {
const STATES = ["healthy", "unknown", "degraded", "flapping", "down"];
const WORDS = { healthy: "healthy", unknown: "not known", degraded: "degraded",
  flapping: "comes and goes", down: "down" };
const NS = "http://www.w3.org/2000/svg";
const $ = id => document.getElementById(id);
let fabric = null, net = null, health = null, version = "", drawn = 0, picked = null;
let rails = [], rail = 0;   // with a map; the one that is shown
let sought = null;          // before there was a map
let painted = [];           // [element, () => state, () => title]

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}
function svg(name, attributes, ...children) {
  const e = document.createElementNS(NS, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}
const rank = s => STATES.indexOf(s);
const worst = list => list.reduce((a, b) => rank(b) > rank(a) ? b : a, "healthy");
const clock = ms => new Date(ms).toLocaleTimeString();
function ago(ms) {
  const s = Math.max(0, Math.round((health.now - ms) / 1000));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " days";
}
// Told anew at each turn, and not read out each time.
const ago_of = ms => el("span", { class: "ago", "data-ms": ms, "aria-live": "off" });
function grow_old() {
  for (const e of document.querySelectorAll(".ago")) e.textContent = ago(Number(e.dataset.ms));
}
// New content, if it says something else or is of another map; what has the
// focus keeps it, or who is around it.
function renew(box, kids, more = []) {
  const say = drawn + "\n" + kids.map(k => k.textContent).join("\n"), has = document.activeElement;
  if (box.said !== say) {
    const held = box.contains(has) && has !== box ? has.textContent : null;
    box.said = say;
    box.replaceChildren(...kids, ...more);
    if (held !== null) ([...box.querySelectorAll("button")].find(b => b.textContent === held) || box).focus({ preventScroll: true });
  }
  grow_old();
}
// One of each, for thousands of names and numbers.
const ORDER = new Intl.Collator("en", { numeric: true }), NUMBER = new Intl.NumberFormat("en");
const by_name = (a, b) => ORDER.compare(a.name, b.name);
const count = (n, one, many) => NUMBER.format(n) + " " + (n === 1 ? one : many);

// ---- what is where ---------------------------------------------------------

// Which level and group a crossbar is of, and what stands where in layers, is
// switchmgrd's to say: `sfabric draw` has the same.
// `lost`: nodes that it lacks.
function read_fabric(f, lost) {
  const xbars = f.xbars.map((x, i) => ({ kind: "switch", i, name: x[0], names: x,
    hosts: [], links: [], level: f.layout.levels[i], group_at: f.layout.groups[i], state: "unknown" }));
  const hosts = f.hosts.map(h => ({ kind: "node", name: h[0], xbar: xbars[h[1]] || null,
    port: h[2], state: "unknown" }));
  hosts.push(...lost.map(name => ({ kind: "node", name, xbar: null, port: -1, lost: true, state: "unknown" })));
  const links = f.links.map(l => ({ kind: "cable", a: xbars[l[0]], pa: l[1],
    b: xbars[l[2]], pb: l[3], state: "unknown" }));
  for (const h of hosts) if (h.xbar) h.xbar.hosts.push(h);
  for (const l of links) { l.a.links.push(l); l.b.links.push(l); }
  for (const x of xbars) x.hosts.sort(by_name);
  const ends = new Map(), nodes = new Map();
  for (const x of xbars) for (const n of x.names) if (!ends.has(n)) ends.set(n, x);
  for (const h of hosts) nodes.set(h.name, h);
  const at = new Map();
  for (const l of links) { at.set(l.a.i + ":" + l.pa, l); at.set(l.b.i + ":" + l.pb, l); }
  for (const l of lost_cables(ends, at)) {
    links.push(l);
    l.a.links.push(l); l.b.links.push(l);
    at.set(l.a.i + ":" + l.pa, l); at.set(l.b.i + ":" + l.pb, l);
  }
  const levels = [];
  for (const x of xbars) (levels[x.level] = levels[x.level] || []).push(x);
  for (let i = 0; i < levels.length; i++) (levels[i] = levels[i] || []).sort((a, b) => a.i - b.i);
  return { xbars, hosts, links, ends, nodes, at, levels, layout: f.layout };
}

// One map may have several rails; where each has its own, what is of this one.
const of_rail = i => typeof i === "string" ? 0 : i.rail;
const is_shown = i => rails.length < 2 || of_rail(i) === rail;

// Nodes with faults that the map lacks: a mapper leaves out who does not answer.
function lost_nodes(f) {
  const mapped = new Set(f.hosts.map(h => h[0]));
  return [...new Set(health.hosts.filter(i => is_shown(i) && rank(i.state) > 1 && !mapped.has(i.name)).map(i => i.name))].sort();
}

// "SWITCH:PORT": [switch or null, port].
function end_of(text, ends) {
  const c = (text || "").lastIndexOf(":");
  return [c > 0 && ends.get(text.slice(0, c)) || null, Number((text || "").slice(c + 1))];
}
// Cables between its switches with faults that the map lacks: nothing is plugged
// in there now.
function lost_cables(ends, at) {
  const free = (x, port) => x && (!at.has(x.i + ":" + port) || at.get(x.i + ":" + port).lost);
  return health.links.filter(i => is_shown(i) && rank(i.state) > 1).flatMap(i => {
    const [a, pa] = end_of(i.name, ends), [b, pb] = end_of(i.peer, ends);
    return free(a, pa) && free(b, pb) ? [{ kind: "cable", a, pa, b, pb, lost: true, state: "unknown" }] : [];
  });
}
const names_of = cables => cables.map(ends_of).sort().join();

// A port of a node with several is told by the switch's port that it hangs on.
function host_of(i) {
  if (typeof i === "string") return net.nodes.get(i);
  const [x, port] = end_of(i.peer, net.ends);
  return x && x.hosts.find(h => h.port === port) || net.nodes.get(i.name);
}
function cable_of(text) {
  const [x, port] = end_of(text, net.ends);
  return x ? net.at.get(x.i + ":" + port) : null;
}

function take_health() {
  for (const list of [net.hosts, net.xbars, net.links])
    for (const o of list) { o.state = "unknown"; o.fault = null; o.seen = false; o.named = null; o.rail = rail; }
  const put = (o, i) => {
    const state = typeof i === "string" ? "healthy" : i.state;
    if (!o || (o.seen && rank(state) <= rank(o.state))) return;
    o.state = state; o.seen = true; o.named = typeof i === "string" ? i : i.name; o.rail = of_rail(i);
    o.fault = typeof i === "string" || state === "healthy" ? null : i;
  };
  const name = i => typeof i === "string" ? i : i.name;
  for (const i of health.hosts.filter(is_shown)) put(host_of(i), i);
  for (const i of health.xbars.filter(is_shown)) put(net.ends.get(name(i)), i);
  for (const i of health.links.filter(is_shown)) put(cable_of(i.name) || cable_of(i.peer), i);
}

// ---- pieces of the picture -------------------------------------------------

function label(o) {
  if (o.kind === "cable")
    return "cable " + o.a.name + ":" + o.pa + " to " + o.b.name + ":" + o.pb + ", " + WORDS[o.state];
  return o.kind + " " + o.name + ", " + WORDS[o.state] + (o.fault && o.fault.why ? ": " + o.fault.why : "");
}
// The nearest one that can be chosen, that way.
function neighbour(e, dx, dy) {
  let best = null, least = Infinity;
  for (const o of e.closest("svg").querySelectorAll("[role=button]")) {
    const x = o.at.x - e.at.x, y = o.at.y - e.at.y;
    const along = x * dx + y * dy, off = Math.abs(x * dy) + Math.abs(y * dx);
    if (along > 0 && along + 3 * off < least) { best = o; least = along + 3 * off; }
  }
  return best;
}
// at: its middle.
function choosable(e, o, tab, at) {
  e.at = at;
  e.of = o;
  e.setAttribute("role", "button");
  e.setAttribute("tabindex", tab ? "0" : "-1");
  e.addEventListener("click", ev => { ev.stopPropagation(); pick(o); });
  e.addEventListener("keydown", ev => {
    if (ev.key === "Enter" || ev.key === " ") { ev.preventDefault(); pick(o); return; }
    const way = { ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowUp: [0, -1] }[ev.key];
    if (!way) return;
    ev.preventDefault();
    const to = neighbour(e, ...way);
    if (to) to.focus();
  });
  o.shown = o.shown || [];
  o.shown.push(e);
}
// What is as it was is left alone: most of it, each two seconds.
function put_class(e, text) {
  if (e.getAttribute("class") !== text) e.setAttribute("class", text);
}
function put_title(e, t, text) {
  if (t.textContent === text) return;
  t.textContent = text;
  e.setAttribute("aria-label", text);
}
function paint(e, state, title, base) {
  const t = title ? e.appendChild(svg("title", {})) : null;
  painted.push(() => {
    put_class(e, (base || "") + " " + state() + (e.dataset.sel ? " sel" : ""));
    if (t) put_title(e, t, title());
  });
}
function box(o, x, y, w, h, text, tab) {
  const g = svg("g", {}), r = svg("rect", { x, y, width: w, height: h, rx: 3 });
  choosable(g, o, tab, { x: x + w / 2, y: y + h / 2 });
  g.append(r);
  if (text) g.append(svg("text", { x: x + w / 2, y: y + h / 2 + 4, "text-anchor": "middle", class: "on" }, text));
  const t = g.appendChild(svg("title", {}));
  painted.push(() => {
    put_class(r, o.state);
    put_class(g, g.dataset.sel ? "sel" : "");
    put_title(g, t, label(o));
  });
  return g;
}
const fit = (text, w) => text.length * 6.4 <= w - 4 ? text : text.slice(0, Math.max(1, Math.floor((w - 10) / 6.4))) + "\u2026";

// ---- all of it: a row for each level ---------------------------------------

function layers() {
  const at = net.layout.layers.find(l => l.size[0] <= $("map").clientWidth);
  if (!at) return null;
  const [W, H] = net.layout.xbar, [w, h] = net.layout.host, top = 24;
  const [width, height] = [at.size[0], at.size[1] + top];
  const times = Math.max(1, Math.min(1.6, Math.floor($("map").clientWidth / width * 100) / 100)); // a small one larger
  const s = svg("svg", { width: width * times, height: height * times, viewBox: "0 0 " + width + " " + height, role: "group", "aria-label": "All switches and nodes" });
  const place = new Map(), cables = svg("g", {}), boxes = svg("g", {});
  net.xbars.forEach((x, i) => { if (x.level) place.set(x, { x: at.xbars[i][0], y: at.xbars[i][1] + top }); });
  net.hosts.forEach((o, i) => { if (o.xbar) place.set(o, { x: at.hosts[i][0], y: at.hosts[i][1] + top }); });
  const between = new Map();
  for (const l of net.links) {
    const k = Math.min(l.a.i, l.b.i) + "-" + Math.max(l.a.i, l.b.i);
    if (!between.has(k)) between.set(k, []);
    between.get(k).push(l);
  }
  for (const list of between.values()) list.forEach((l, i) => {
    const a = place.get(l.a), b = place.get(l.b), off = (i - (list.length - 1) / 2) * 6;
    if (!a || !b) return;
    const up = a.y <= b.y ? [a, b] : [b, a];
    const d = a.y === b.y
      ? "M" + (a.x + off) + " " + a.y + " Q" + (a.x + b.x) / 2 + " " + (a.y - 46 - Math.abs(off)) + " " + (b.x + off) + " " + b.y
      : "M" + (up[0].x + off) + " " + (up[0].y + H) + " L" + (up[1].x + off) + " " + up[1].y;
    const p = svg("path", { d });
    p.addEventListener("click", () => pick(l));
    paint(p, () => l.state, () => label(l), "c");
    l.shown.push(p);
    cables.append(p);
  });
  for (const [o, p] of place) {
    if (o.kind === "switch") {
      boxes.append(box(o, p.x - W / 2, p.y, W, H, fit(o.name, W), true));
      continue;
    }
    const leaf = place.get(o.xbar);
    const column = o.xbar.hosts.filter(k => place.get(k).x === p.x);
    if (column.every(k => place.get(k).y >= p.y)) {
      const c = svg("path", { d: "M" + leaf.x + " " + (leaf.y + H) + " L" + p.x + " " + p.y });
      paint(c, () => worst(column.map(v => v.state)), null, "c");
      cables.append(c);
    }
    boxes.append(box(o, p.x - w / 2, p.y, w, h, fit(o.name, w + 4), true));
  }
  // Where lost nodes were plugged in, as far as somebody has said it.
  const ended = new Map();
  for (const o of net.hosts) {
    const x = o.lost && o.fault ? end_of(o.fault.peer, net.ends)[0] : null, leaf = place.get(x);
    if (!leaf) continue;
    const n = ended.get(x) || 0, c = svg("path", { d: "M" + (leaf.x - W / 2 + 6 + n * 6) + " " + (leaf.y + H) + " v12" });
    ended.set(x, n + 1);
    c.addEventListener("click", () => pick(o));
    paint(c, () => o.state, () => "cable of " + label(o), "c");
    o.shown.push(c);
    cables.append(c);
  }
  s.append(cables, boxes);
  return s;
}

// ---- groups and matrices ---------------------------------------------------

// What hangs together below the highest level.
function groups() {
  const top = net.levels.length - 1, of = new Map();
  const list = net.layout.names.map((name, index) => ({ name, index, leaves: [], mids: [] }));
  for (const x of net.xbars) {
    const g = list[x.group_at];
    if (!g) continue;
    of.set(x, g);
    (x.level === 1 ? g.leaves : g.mids).push(x);
  }
  for (const g of list) g.hosts = g.leaves.flatMap(x => x.hosts);
  return { list, of, top: top > 1 ? net.levels[top] : [] };
}

function strip(hosts, w) {
  const each = 9, cols = Math.max(1, Math.floor(w / each)), h = Math.ceil(hosts.length / cols) * each;
  const s = svg("svg", { width: w, height: h, "aria-hidden": "true" });
  hosts.forEach((o, i) => {
    const r = svg("rect", { x: i % cols * each, y: Math.floor(i / cols) * each, width: 7, height: 7, rx: 1 });
    r.addEventListener("click", ev => { ev.preventDefault(); pick(o); });
    paint(r, () => o.state);
    o.shown.push(r);
    s.append(r);
  });
  return s;
}

// rows x columns; a cell is the cables between the two, and the first one of a
// row is the worst of its nodes.  In a narrow window a cell is several columns.
function matrix(rows, all, cables, name, what) {
  const left = 118, top = 22, wide = $("map").clientWidth - left - 4;
  const each = all.length * 3 <= wide ? 1 : Math.ceil(all.length * 6 / wide), columns = [];
  for (let i = 0; i < all.length; i += each) columns.push(all.slice(i, i + each));
  const span = (from, to) => from === to ? from.name : from.name + " \u2026 " + to.name;
  const c = Math.max(3, Math.min(columns.length > 96 ? 6 : columns.length > 40 ? 10 : 18, Math.floor(wide / columns.length)));
  const s = svg("svg", { width: left + columns.length * c + 4, height: top + rows.length * Math.max(c, 12) + 4, role: "group", "aria-label": what });
  const rh = Math.max(c, 12);
  s.append(svg("text", { x: left - 8, y: 13, "text-anchor": "end", class: "dim" }, "nodes"));
  s.append(svg("text", { x: left, y: 13, class: "dim" }, span(all[0], all[all.length - 1])));
  rows.forEach((r, i) => {
    s.append(svg("text", { x: left - 30, y: top + i * rh + rh / 2 + 4, "text-anchor": "end", class: "dim" }, fit(name(r), left - 22)));
    const nodes = s.appendChild(svg("rect", { x: left - 24, y: top + i * rh, width: 16, height: rh - 1, rx: 2 }));
    paint(nodes, () => worst(r.hosts.map(h => h.state)), () => {
      const bad = r.hosts.filter(h => rank(h.state) > 1).length;
      return name(r) + ": " + count(r.hosts.length, "node", "nodes") + (bad ? ", " + count(bad, "fault", "faults") : "");
    });
    columns.forEach((k, j) => {
      const list = k.flatMap(x => cables(r, x)), to = name(r) + " to " + span(k[0], k[k.length - 1]);
      if (!list.length) return;
      const e = svg("rect", { x: left + j * c, y: top + i * rh, width: c - 1, height: rh - 1, rx: c > 8 ? 2 : 0 });
      const o = { kind: "cell", name: to, list };
      choosable(e, o, i === 0 && j === 0, { x: left + j * c, y: top + i * rh });
      paint(e, () => worst(list.map(l => l.state)), () => to + ": " + count(list.length, "cable", "cables") + ", " + WORDS[worst(list.map(l => l.state))]);
      s.append(e);
    });
  });
  return s;
}

function pairs(key) {
  const m = new Map();
  for (const l of net.links) for (const [x, y] of [[l.a, l.b], [l.b, l.a]]) {
    const k = key(x) + "-" + y.i;
    if (!m.has(k)) m.set(k, []);
    m.get(k).push(l);
  }
  return m;
}

function inside(g, columns) {
  const d = el("div", {});
  const m = pairs(x => x.i);
  if (columns.length)
    d.append(el("h3", {}, "Leaf by spine: the cables between them"),
      matrix(g.leaves, columns, (r, k) => m.get(r.i + "-" + k.i) || [], r => r.name, "Leaves by spines"));
  d.append(el("h3", {}, "Leaves and their nodes"));
  const W = 74, H = 20, cols = Math.max(1, ...g.leaves.map(x => x.hosts.length)), w = 46;
  const s = svg("svg", { width: W + 10 + cols * w, height: g.leaves.length * (H + 5), role: "group", "aria-label": "Leaves and their nodes" });
  g.leaves.forEach((x, i) => {
    s.append(box(x, 0, i * (H + 5), W, H, fit(x.name, W), i === 0));
    x.hosts.forEach((h, j) => s.append(box(h, W + 8 + j * w, i * (H + 5), w - 3, H, fit(h.name, w - 3), false)));
  });
  d.append(s);
  return d;
}

function grouped() {
  const { list, of, top } = groups(), d = el("div", {});
  const single = list.every(g => g.leaves.length === 1);
  if (list.length > 1 && top.length) {
    const m = pairs(x => of.has(x) ? "g" + of.get(x).index : "x" + x.i);
    d.append(el("h3", {}, single ? "Leaf by spine: the cables between them" : "Groups by core switches: the cables between them"),
      matrix(list, top, (g, k) => m.get("g" + g.index + "-" + k.i) || [], g => g.name, "Groups by core switches"));
  }
  const cards = el("div", { class: "groups" });
  for (const g of list) {
    const head = el("summary", {}), say = el("span", {}), box = el("details", {});
    head.append(say, strip(g.hosts, 210));
    painted.push(() => {
      const bad = [...g.hosts, ...g.leaves, ...g.mids].filter(o => rank(o.state) > 1).length;
      say.textContent = g.name + ": " + (g.hosts.length ? g.hosts[0].name + " \u2026 " + g.hosts[g.hosts.length - 1].name : "") +
        ", " + count(g.hosts.length, "node", "nodes") + (bad ? ", " + count(bad, "fault", "faults") : "");
    });
    box.append(head);
    g.open = () => {
      if (box.childElementCount > 1) return;
      const from = painted.length;
      box.append(inside(g, g.mids.length ? g.mids : list.length === 1 ? top : []));
      for (const p of painted.slice(from)) p();
    };
    box.addEventListener("toggle", () => { if (box.open) g.open(); });
    g.box = box;
    for (const o of [...g.hosts, ...g.leaves, ...g.mids]) o.group = g;
    cards.append(box);
  }
  d.append(el("h3", {}, single ? "Leaves" : list.length > 1 ? "Groups" : "The fabric"), cards);
  if (list.length === 1) { list[0].box.open = true; list[0].open(); }
  return d;
}

function lost() {
  const list = net.hosts.filter(h => h.lost);
  return list.length ? [el("h3", {}, "Nodes that the map lacks"), rows_of(list)] : [];
}
function loose() {
  const list = net.hosts.filter(h => !h.xbar && !h.lost), far = net.levels[0] || [];
  return [...list.length ? [el("h3", {}, "Nodes without a cable"), rows_of(list)] : [],
    ...far.length ? [el("h3", {}, "Switches that no node reaches"), rows_of(far)] : []];
}
function rows_of(list) {
  const W = 74, cols = Math.max(1, Math.floor($("map").clientWidth / W));
  const s = svg("svg", { width: Math.min(cols, list.length) * W, height: Math.ceil(list.length / cols) * 26, role: "group", "aria-label": "Not joined to the others" });
  list.forEach((o, i) => s.append(box(o, i % cols * W, Math.floor(i / cols) * 26, W - 4, 22, fit(o.name, W - 4), i === 0)));
  return s;
}

const has_map = () => net.xbars.length > 0 || net.hosts.some(h => !h.lost);
function draw() {
  painted = [];
  for (const o of [...net.hosts, ...net.xbars, ...net.links]) { o.shown = []; o.group = null; }
  if (!has_map()) {
    $("map").replaceChildren(el("p", { class: "dim" }, "No map of the fabric yet: no mapper leads, or TopologyMap= names no file. Nothing is known of it, which does not mean that it is down."));
    return;
  }
  $("map").replaceChildren(...lost(), layers() || grouped(), ...loose());
  $("names").replaceChildren(...[...net.xbars, ...net.hosts].slice(0, 10000).map(o => el("option", { value: o.name })));
}

// ---- words -----------------------------------------------------------------

function pairs_of(list) {
  const dl = el("dl", {});
  for (const [k, v] of list) if (v !== null && v !== undefined && v !== "") dl.append(el("dt", {}, k), el("dd", {}, v));
  return dl;
}
function since(ms) {
  return el("span", {}, clock(ms) + " (", ago_of(ms), ")");
}
const ends_of = l => l.a.name + ":" + l.pa + " \u2013 " + l.b.name + ":" + l.pb;
function link_to(o) {
  const b = el("button", { type: "button" }, o.kind === "cable" ? ends_of(o) : o.name);
  b.addEventListener("click", () => pick(o));
  return b;
}
function detail() {
  const o = picked;
  if (!o) return;
  if (o.kind === "job") { job_detail(o); return; }
  const f = o.fault, kids = [];
  if (o.kind === "cell") {
    kids.push(pairs_of([["Cables", o.name], ...o.list.slice(0, 32).map(l => [WORDS[l.state], link_to(l)])]));
  } else {
    kids.push(pairs_of([[{ node: "Node", switch: "Switch", cable: "Cable" }[o.kind], o.kind === "cable" ? ends_of(o) : o.name], ["State", WORDS[o.state]],
      ["Since", f ? since(f.since) : ""], ["Why", f ? f.why : ""], ["Slurm", f ? f.slurm : ""],
      ["Hangs on", o.xbar ? link_to(o.xbar) : ""], ["Was at", o.lost && f ? f.peer : ""], ["Port", o.xbar ? String(o.port) : ""],
      ["Level", o.level ? String(o.level) : ""], ["Nodes", o.hosts ? String(o.hosts.length) : ""],
      ["Cables up", o.links ? o.links.filter(l => l.state === "healthy").length + " of " + o.links.length : ""],
      ...(o.links || []).slice(0, 64).map(l => [WORDS[l.state], link_to(l)])]));
  }
  const linked = o.kind === "node" || o.kind === "cable";
  if (linked) kids.push(...spans());
  put_detail(o, kids, linked ? past_of(o) : null);
}
// It is read out when it changes, and so is left alone when it does not.
let detailed;
function put_detail(o, kids, more) {
  if (detailed !== o) $("detail").said = null;
  detailed = o;
  renew($("detail"), kids, more ? [more] : []);
}

// ---- what a link was like --------------------------------------------------

// `fold`: so many samples are one point.
const SPANS = {
  day: { word: "Day", head: "Last day", begin: "24 h ago", fold: 1, fresh: 60000,
    told: "The strip below is its worst state of each minute." },
  year: { word: "Year", head: "Last year", begin: "a year ago", fold: 24, fresh: 600000,
    told: "Each point is the highest hour of 24. The strip below is the worst state of each 24 hours." },
};
let chosen_span = "day";

function rate(v) {
  const units = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
  let u = 0;
  for (; v >= 1000 && u < units.length - 1; u++) v /= 1000;
  return (u && v < 100 ? v.toFixed(1) : String(Math.round(v))) + " " + units[u];
}
// Runs of samples for which `of` is the same and not null: [value, from, to].
function runs(list, of) {
  const out = [];
  list.forEach((v, i) => {
    const k = of(v), last = out[out.length - 1];
    if (k === null) return;
    if (last && last[0] === k && last[2] === i) last[2] = i + 1;
    else out.push([k, i, i + 1]);
  });
  return out;
}
// Of each `by` samples that are known what `join` makes of them; null of none.
function fold(list, by, join) {
  const out = [];
  for (let i = 0; i < list.length; i += by) {
    const some = list.slice(i, i + by).filter(v => v !== null);
    out.push(some.length ? join(some) : null);
  }
  return out;
}
// [x, text] of where the months begin that have room for their name.
function months(h, W) {
  const out = [], end = h.from + h.step * h.in.length, at = new Date(h.from);
  for (at.setDate(1), at.setHours(0, 0, 0, 0); at < end; at.setMonth(at.getMonth() + 1))
    out.push([(at - h.from) / (end - h.from) * W, at.toLocaleDateString("en", { month: "short" })]);
  return out.filter(m => m[0] >= 0);
}
function chart(h, span) {
  const W = 340, H = 96, most = list => Math.max(...list);
  const into = fold(h.in, span.fold, most), out = fold(h.out, span.fold, most);
  const bad = fold(h.errors, span.fold, list => list.reduce((a, b) => a + b, 0));
  const n = into.length, x = i => i * W / n;
  const max = Math.max(1, ...into, ...out), y = v => 14 + (H - 26) * (1 - v / max);
  const known = into.some(v => v !== null);
  const say = (known ? "highest in " + rate(Math.max(0, ...into)) + ", out " + rate(Math.max(0, ...out)) + "; " +
    count(bad.reduce((a, b) => a + (b || 0), 0), "frame", "frames") + " lost or broken" : "nobody counts its traffic");
  const s = svg("svg", { width: "100%", viewBox: "0 0 " + W + " " + (H + 16), role: "img", "aria-label": span.head + ": " + say });
  const marks = span.fold > 1 ? months(h, W) : [0, .25, .5, .75, 1].map(f => [f * W, ""]);
  for (const [at, name] of marks) {
    s.append(svg("line", { x1: at, x2: at, y1: 14, y2: H - 8, class: "grid" }));
    if (name && at < W - 46 && at > 62) s.append(svg("text", { x: at, y: H + 13, "text-anchor": "middle", class: "dim" }, name));
  }
  for (const [list, name] of [[out, "out"], [into, "in"]])
    for (const [, from, to] of runs(list, v => v === null ? null : 1))
      s.append(svg("polyline", { class: name, points: list.slice(from, to).map((v, i) => x(from + i).toFixed(1) + "," + y(v).toFixed(1)).join(" ") +
        (to - from === 1 ? " " + x(to).toFixed(1) + "," + y(list[from]).toFixed(1) : "") }));
  for (const [, from, to] of runs(bad, v => v ? 1 : null))
    s.append(svg("rect", { x: x(from), width: Math.max(1.5, x(to) - x(from)), y: 3, height: 7, class: "flapping" }));
  for (const [state, from, to] of runs(fold(h.state, span.fold, worst), v => v))
    s.append(svg("rect", { x: x(from), width: Math.max(1, x(to) - x(from)), y: H - 6, height: 6, class: state }));
  s.append(svg("text", { x: 0, y: H + 13, class: "dim" }, span.begin), svg("text", { x: W, y: H + 13, "text-anchor": "end", class: "dim" }, "now"));
  return el("figure", {}, s, el("figcaption", { class: "dim" },
    el("i", { class: "in" }), "in ", el("i", { class: "out" }), "out; " + say + ". " + span.told));
}
// It is asked for once a minute, a year every ten, and drawn again only then.
function past_of(o) {
  const own = o.kind === "node" ? o.named || o.name : o.named, name = own && o.rail ? own + "/" + o.rail : own;
  if (!name) return el("p", { class: "dim" }, "No history: this link has no name that lasts, or nobody has reported of it.");
  o.past = o.past || {};
  const key = chosen_span, span = SPANS[key], had = o.past[key];
  if (had && Date.now() - had.at < span.fresh) return had.box;
  const box = had ? had.box : el("div", {});
  const none = text => box.replaceChildren(el("p", { class: "dim" }, text));
  o.past[key] = { at: Date.now(), box };
  ask(key + "/" + encodeURI(name)).then(h => h.in ? box.replaceChildren(chart(h, span)) : none("No history yet."),
    () => none("switchmgrd does not answer. It is asked again."));
  return box;
}
// The heading and the switch above it.
function spans() {
  const keys = Object.keys(SPANS).map(key => {
    const b = el("button", { type: "button", "aria-pressed": String(key === chosen_span) }, SPANS[key].word);
    b.addEventListener("click", () => { chosen_span = key; detail(); });
    return b;
  });
  return [el("h3", {}, SPANS[chosen_span].head), el("div", { class: "spans", role: "group", "aria-label": "How far back" }, ...keys)];
}
function pick(o) {
  picked = o;
  sought = null;
  document.documentElement.classList.toggle("held", o !== null);
  if (!o && document.activeElement === $("drop")) $("detail").focus({ preventScroll: true });
  $("drop").hidden = o === null;
  if (o && o.group) { o.group.box.open = true; o.group.open(); }
  mark();
  if (!o) put_detail(null, [el("p", { class: "dim" }, "Nothing is selected. Choose a node or a switch, or press / to search for one or for a job.")], null);
  detail();
}
// A job is marked at all of its nodes.
function mark() {
  for (const e of document.querySelectorAll("[data-sel]")) delete e.dataset.sel;
  for (const o of picked ? picked.kind === "job" ? picked.nodes : [picked] : [])
    for (const e of o.shown || []) e.dataset.sel = "1";
  for (const p of painted) p();
}

// ---- jobs ------------------------------------------------------------------

const is_job = q => /^[0-9]+([_+][0-9]+)?$/.test(q);
async function look_up(name) {
  const j = await ask("job/" + encodeURIComponent(name));
  return j.nodes ? { kind: "job", name: j.job, names: j.nodes, at: Date.now(), asked: name,
    nodes: j.nodes.map(n => net.nodes.get(n)).filter(Boolean) } : null;
}
function job_detail(o) {
  const bad = o.nodes.filter(h => rank(h.state) > 1).sort((a, b) => rank(b.state) - rank(a.state) || by_name(a, b));
  const lacking = o.names.length - o.nodes.length;
  const kids = [pairs_of([["Job", o.name], ["Nodes", String(o.names.length)],
    ["State", o.ended ? "has ended, or Slurm does not tell" : WORDS[worst(o.nodes.map(h => h.state))]],
    ["Not in the map", lacking ? String(lacking) : ""],
    ["Switches", String(new Set(o.nodes.map(h => h.xbar)).size)]])];
  if (bad.length) kids.push(el("h3", {}, "Nodes with faults"), pairs_of(bad.slice(0, 64).map(h => [WORDS[h.state], link_to(h)])));
  kids.push(el("h3", {}, "Its nodes"), el("p", {}, ...o.nodes.slice(0, 256).flatMap(h => [link_to(h), " "]), o.nodes.length > 256 ? "\u2026" : ""));
  put_detail(o, kids, null);
  if (o.ended || Date.now() - o.at < 10000) return;
  o.at = Date.now();
  look_up(o.asked).then(j => {
    if (picked !== o) return;
    o.ended = !j;
    if (j) { o.names = j.names; o.nodes = j.nodes; }
    mark();
  }, () => {});
}

function faults() {
  const list = [...health.hosts, ...health.xbars, ...health.links].filter(i => i.state && i.state !== "healthy")
    .sort((a, b) => rank(b.state) - rank(a.state) || b.since - a.since || by_name(a, b));
  const known = health.hosts.length + health.xbars.length + health.links.length;
  const kids = list.slice(0, 100).map(i => {
    const o = is_shown(i) ? (i.slurm ? host_of(i) : net.nodes.get(i.name)) || net.ends.get(i.name) : null;
    const d = el("div", { class: "fault " + i.state });
    d.append(el("p", {}, o ? link_to(o) : el("strong", {}, i.slurm || !i.peer ? i.name : i.name + " \u2013 " + i.peer), " " + WORDS[i.state] + (i.rail ? " on rail " + i.rail : "") + (i.slurm && i.peer ? " at " + i.peer : "")));
    if (i.why) d.append(el("p", {}, i.why));
    d.append(el("p", { class: "dim" }, "since ", since(i.since), i.slurm ? "; Slurm: " + i.slurm : ""));
    return d;
  });
  if (!known) kids.push(el("p", { class: "dim" }, "Nobody has reported yet: nothing is known."));
  else if (!list.length) kids.push(el("p", { class: "dim" }, "None."));
  if (list.length > 100) kids.push(el("p", { class: "dim" }, "And " + (list.length - 100) + " more: sfabric hosts."));
  renew($("faults"), kids);
  $("bad").hidden = !list.length;
  $("bad").textContent = count(list.length, "fault", "faults");
}

function words() {
  const n = s => net.hosts.filter(h => h.state === s).length;
  const parts = [count(net.hosts.length, "node", "nodes"), count(net.xbars.length, "switch", "switches"), count(net.links.filter(l => !l.lost).length + net.hosts.filter(h => h.xbar).length, "cable", "cables")];
  for (const s of ["down", "flapping", "degraded", "unknown"]) if (n(s)) parts.push(n(s) + " " + WORDS[s]);
  const say = (rails.length > 1 ? "Rail " + rail + ": " : "") + parts.join(", ") + ". As of " + clock(health.now) + ".";
  if ($("sum").textContent !== say) $("sum").textContent = say;
  $("slurm").replaceChildren(...pairs_of([["slurmctld", health.reachable ? "answers" : "does not answer"],
    ["Drained by the fabric", String(health.drained)], ["Waiting for an update", String(health.waiting)],
    ["Held back by the caps", String(health.capped)],
    ["Caps", health.drain_max + " drains within " + health.drain_interval + " s, " + health.drain_percent + " % of the nodes at a time"],
    ["Maintenance", health.maintenance.length ? health.maintenance.slice(0, 50).join(", ") : "none"],
    ...(health.maps.length ? health.maps.map(m => ["Mapper" + (health.maps.length > 1 ? " of rail " + m.rail : ""), m.leader + ", heard " + ago(m.heard) + " ago"])
      : [["Mapper", "none was heard"]]),
    ["Mode", health.dry_run ? "dry run: Slurm is told nothing" : ""]]).childNodes);
  $("events").replaceChildren(...health.events.slice().reverse().map(e => el("li", {}, el("time", {}, clock(e.at)), e.text)));
}

// What was chosen, in a new map.
function again(o) {
  if (!o) return null;
  if (o.kind === "node") return net.nodes.get(o.name) || null;
  if (o.kind === "switch") return net.ends.get(o.name) || null;
  if (o.kind === "cable") return cable_of(o.a.name + ":" + o.pa);
  if (o.kind !== "job") return null;
  o.nodes = o.names.map(n => net.nodes.get(n)).filter(Boolean);
  return o;
}

// A map for each rail: which of them is shown.
function offer_rails() {
  const box = $("rails");
  box.hidden = rails.length < 2;
  renew(box, box.hidden ? [] : rails.map(f => {
    const bad = [...health.hosts, ...health.xbars, ...health.links].filter(i => of_rail(i) === f.rail && rank(i.state) > 1).length;
    const b = el("button", { type: "button", "aria-pressed": String(f.rail === rail) },
      "Rail " + f.rail + (bad ? ", " + count(bad, "fault", "faults") : "") + (f.rail === rail ? ", shown" : ""));
    b.addEventListener("click", () => { rail = f.rail; turn(); });
    return b;
  }));
}

async function ask(path) {
  const r = await fetch(path, { cache: "no-store" });
  if (!r.ok) throw new Error(path + ": " + r.status);
  return r.json();
}
let turns = 0, next_turn = 0;
async function turn() {
  const me = ++turns;
  clearTimeout(next_turn);
  try {
    const now = await ask("health.json"), had = now.fabrics;
    const at = had.some(f => f.rail === rail) || !had.length ? rail : had[0].rail;
    const mine = had.find(f => f.rail === at), is = at + ":" + (mine ? mine.version : 0), other = is !== version;
    const map = other ? await ask("fabric/" + at) : fabric;
    if (me !== turns) return; // another rail was chosen meanwhile
    [health, rails, rail, fabric, version] = [now, had, at, map, is];
    const lost = lost_nodes(fabric), fresh = other || lost.join() !== net.hosts.filter(h => h.lost).map(h => h.name).join() ||
      names_of(lost_cables(net.ends, net.at)) !== names_of(net.links.filter(l => l.lost));
    if (fresh) { net = read_fabric(fabric, lost); drawn++; }
    take_health();
    if (fresh) {
      const held = $("map").contains(document.activeElement) ? document.activeElement.of : null;
      draw();
      picked = again(picked);
      mark();
      if (held) focus_on(again(held));
      if (sought && has_map()) search(sought);
    }
    for (const p of painted) p();
    if (fresh) performance.mark("fabric drawn");
    faults(); words(); detail(); offer_rails();
    document.body.dataset.ready = version;
  } catch (e) {
    $("sum").textContent = "switchmgrd does not answer: what is shown is old.";
  }
  if (me === turns) next_turn = setTimeout(turn, document.hidden ? 10000 : 2000);
}

$("legend").replaceChildren(...STATES.map(s => el("li", {}, el("i", { class: s }), WORDS[s])));
$("find").addEventListener("submit", ev => {
  ev.preventDefault();
  const q = $("q").value.trim();
  if (q) search(q);
});
function search(q) {
  const low = q.toLowerCase();
  if (!net) { found(null, q); return; }
  const all = [...net.hosts, ...net.xbars];
  const o = net.nodes.get(q) || net.ends.get(q) || all.find(v => v.name.toLowerCase().startsWith(low)) || all.find(v => v.name.toLowerCase().includes(low));
  if (is_job(q) && !(o && o.name === q))
    look_up(q).then(j => found(j || o, q), () => found(o, q));
  else found(o, q);
}
function found(o, q) {
  if (!o) {
    const early = !net || !has_map();
    pick(null);
    sought = early ? q : null;
    put_detail(null, [el("p", {}, early ? "There is no map of the fabric yet; " + q + " is looked for when there is one."
      : "There is no node or switch " + q + (is_job(q) ? ", and no job of that number runs." : "."))], null);
    return;
  }
  pick(o);
  focus_on(o.kind === "job" ? o.nodes[0] : o);
}
function focus_on(o) {
  const e = o && o.shown, to = e && (e.find(s => s.getAttribute("role")) || e[0]);
  if (!to) return;
  to.scrollIntoView({ block: "center", inline: "center" });
  if (to.getAttribute("role")) to.focus({ preventScroll: true });
}
$("drop").addEventListener("click", () => pick(null));
document.addEventListener("keydown", ev => {
  if (ev.key === "/" && ev.target.tagName !== "INPUT") { ev.preventDefault(); $("q").select(); $("q").focus(); }
  if (ev.key === "Escape" && picked) pick(null);
});
let wide = innerWidth;
addEventListener("resize", () => {
  if (!net || wide === innerWidth) return;
  wide = innerWidth;
  draw();
  if (picked) pick(picked);
  for (const p of painted) p();
});
turn();
})();
