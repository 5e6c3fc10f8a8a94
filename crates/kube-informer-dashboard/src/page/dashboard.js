// The dashboard of kube-informer, without a framework and without a build step.
//
// Data of the server is inserted as text or attributes by `h`, never as HTML. A view is a function that builds the page
// from `known`; `morph` then applies only the differences, so that focus and selection are kept.
"use strict";

// ---- Elements ----------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "circle", "line", "text", "title"]);

/** Creates an element. Attributes that begin with "on" are listeners; attributes with the value false are omitted. */
function h(tag, attributes, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "key") element.key = value;
    else if (name === "value") { element.value = value; element.setAttribute("value", value); }
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(9)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

const LISTENERS = ["onclick", "oninput", "onchange", "onsubmit", "onpointermove", "onpointerleave"];

/** Updates `old` to equal `fresh`, and keeps equal elements. Elements with `data-own` manage their own children. */
function morph(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of LISTENERS) if (old[name] !== fresh[name]) old[name] = fresh[name];
  old.key = fresh.key;
  if ((old.tagName === "INPUT" || old.tagName === "SELECT") && old !== document.activeElement) {
    if (old.tagName === "INPUT") old.value = fresh.value;
  }
  if (fresh.hasAttribute("data-own")) return;
  morphChildren(old, [...fresh.childNodes]);
  if (old.tagName === "SELECT" && old !== document.activeElement) old.value = fresh.value;
}

function morphChildren(parent, fresh) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.key !== undefined) keyed.set(child.key, child);
  let place = parent.firstChild;
  for (const wanted of fresh) {
    let found = wanted.key !== undefined ? keyed.get(wanted.key) : place;
    const fits = found && found.nodeType === wanted.nodeType && found.nodeName === wanted.nodeName
      && found.key === wanted.key;
    if (!fits) {
      parent.insertBefore(wanted, place);
      continue;
    }
    if (found !== place) parent.insertBefore(found, place);
    else place = place.nextSibling;
    if (found.nodeType === Node.TEXT_NODE) {
      if (found.data !== wanted.data) found.data = wanted.data;
    } else morph(found, wanted);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// ---- Formatting ------------------------------------------------------------------------------------------------------------

const count = new Intl.NumberFormat("en");

function bytes(number) {
  if (number === null || number === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) { number /= 1000; at += 1; }
  return `${at === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[at]}`;
}

function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return seconds > 0 ? `${Math.round(seconds * 1e6)} µs` : "0";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** Like `span`, but without digits that change with every update. */
function lag(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  return seconds < 1 ? "< 1 s" : seconds < 120 ? `${Math.floor(seconds)} s` : span(seconds);
}

function rate(perSecond) {
  if (!(perSecond > 0.005)) return "0/s";
  return perSecond < 10 ? `${perSecond.toFixed(1)}/s` : `${count.format(Math.round(perSecond))}/s`;
}

const plural = (number, word) => `${count.format(number)} ${word}${number === 1 ? "" : "s"}`;

const sum = (list, of) => list.reduce((all, item) => all + (of(item) || 0), 0);

function clock(millis) {
  return new Date(millis).toLocaleTimeString("en-GB");
}

function yaml(value, indent = "") {
  if (value === null || typeof value !== "object") return " " + scalar(value, indent);
  const entries = Array.isArray(value) ? value.map((item) => [null, item]) : Object.entries(value);
  if (entries.length === 0) return Array.isArray(value) ? " []" : " {}";
  return entries.map(([name, item]) => {
    if (name !== null) {
      const deeper = Array.isArray(item) ? indent : indent + "  ";
      return `\n${indent}${scalar(name, "")}:${yaml(item, deeper)}`;
    }
    const inner = yaml(item, indent + "  ");
    // The first line of a map or list follows the dash.
    return `\n${indent}-${inner.startsWith("\n") ? " " + inner.trimStart() : inner}`;
  }).join("");
}

function scalar(value, indent) {
  if (typeof value !== "string") return String(value);
  if (value.includes("\n")) {
    const end = value.endsWith("\n") ? "|" : "|-";
    return [end, ...value.replace(/\n$/, "").split("\n")].join(`\n${indent || "  "}`);
  }
  const plain = /^[A-Za-z_/.(][\w ./@%+()-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|~)$/i.test(value)
    && !value.endsWith(" ");
  return plain ? value : JSON.stringify(value);
}

// ---- State -----------------------------------------------------------------------------------------------------------------

const known = {
  overview: null,
  samples: [],
  rates: {},
  lost: null,
  width: 0,
  hover: null,
  objects: null,
  object: null,
  changes: null,
  indexValues: {},
  copied: false,
};

/** Returns the view and its parameters from the URL. */
function place() {
  const [path, query] = (location.hash.slice(1) || "/").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const parameters = new URLSearchParams(query || "");
  if (parts[0] === "informer" && parts[1]) {
    const key = parts[2] === "object" ? parts.slice(3).join("/") : null;
    return { view: key ? "object" : "informer", informer: parts[1], key, parameters };
  }
  return { view: "overview", parameters };
}

function address(informer, key, parameters) {
  let to = "#/";
  if (informer) to += `informer/${encodeURIComponent(informer)}`;
  if (key) to += `/object/${key.split("/").map(encodeURIComponent).join("/")}`;
  const query = parameters ? parameters.toString() : "";
  return query ? `${to}?${query}` : to;
}

/** The URL of this file. Requests are relative to it. */
const BASE_URL = document.currentScript.src;

async function ask(path, parameters) {
  const query = parameters ? `?${new URLSearchParams(parameters)}` : "";
  const response = await fetch(new URL(path + query, BASE_URL), { headers: { accept: "application/json" } });
  if (response.status === 204) return null;
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error || response.statusText), { answered: true });
  return answer;
}

const informers = () => (known.overview ? known.overview.informers : []);
const queues = () => (known.overview ? known.overview.queues : []);
const informer = (id) => informers().find((one) => one.id === id);

// ---- Polling, while the page is visible ------------------------------------------------------------------------------------

const PAUSE = 500;
let asking = false;
let again = null;

async function look() {
  if (asking || document.hidden) return;
  asking = true;
  clearTimeout(again);
  const began = performance.now();
  try {
    const before = known.overview;
    known.overview = await ask("api/overview");
    known.lost = null;
    noteRates(before, known.overview);
    announce(before, known.overview);
    await Promise.all([lookAtSamples(), lookAtPlace()]);
  } catch (error) {
    if (!error.answered) known.lost = known.lost || Date.now();
  }
  asking = false;
  draw();
  // Poll a slow server less often.
  const took = performance.now() - began;
  again = setTimeout(look, Math.max(PAUSE, 2 * took));
}

async function lookAtSamples() {
  const last = known.samples.at(-1);
  if (last && known.overview.time - last.at < 900) return;
  const fresh = await ask("api/samples", last ? { since: last.at } : {});
  known.samples.push(...fresh);
  const oldest = known.overview.time - 300000;
  while (known.samples.length && known.samples[0].at < oldest) known.samples.shift();
}

/** Requests the data of the current view, if the cache or the request has changed. */
async function lookAtPlace() {
  const here = place();
  const one = here.informer && informer(here.informer);
  if (!one) return;
  if (here.view === "informer") {
    const parameters = new URLSearchParams(here.parameters);
    parameters.set("informer", one.id);
    const question = parameters.toString();
    await Promise.all([lookAtObjects(question, parameters, one), lookAtChanges(one), lookAtIndex(one, here)]);
  } else {
    const question = `${one.id} ${here.key} ${one.tag}`;
    if (known.object && known.object.question === question) return;
    try {
      const answer = await ask("api/object", { informer: one.id, key: here.key });
      known.object = { question, key: here.key, informer: one.id, ...answer };
    } catch (error) {
      if (!error.answered) throw error;
      known.object = { question, key: here.key, informer: one.id, refused: error.message, history: [] };
    }
  }
}

async function lookAtObjects(question, parameters, one) {
  const seen = known.objects && known.objects.question === question ? known.objects : null;
  if (seen && seen.tag === one.tag) return;
  try {
    const answer = await ask("api/objects", parameters);
    const versions = new Map(answer.objects.map((row) => [row.key, row.version]));
    // New and changed objects are highlighted, unless the filter has changed.
    const fresh = seen && seen.versions
      ? new Set(answer.objects.filter((row) => seen.versions.get(row.key) !== row.version).map((row) => row.key))
      : new Set();
    known.objects = { question, versions, fresh, ...answer };
  } catch (error) {
    if (!error.answered) throw error;
    known.objects = { question, tag: one.tag, refused: error.message, total: 0, objects: [] };
  }
}

async function lookAtChanges(one) {
  if (known.changes && known.changes.informer === one.id && known.changes.tag === one.tag) return;
  known.changes = { informer: one.id, tag: one.tag, list: await ask("api/history", { informer: one.id }) };
}

async function lookAtIndex(one, here) {
  const index = (here.parameters.get("index") || "").split("=")[0];
  const name = `${one.id} ${index}`;
  if (!index || !one.indexes.includes(index) || one.secret) return;
  const old = known.indexValues[name];
  if (old && old.tag === one.tag) return;
  known.indexValues[name] = { tag: one.tag, values: await ask("api/index-values", { informer: one.id, index }) };
}

/** Updates the smoothed rates from two consecutive responses. */
function noteRates(before, after) {
  if (!before) return;
  const seconds = Math.max((after.time - before.time) / 1000, 0.05);
  const note = (name, now, then) => {
    if (then === undefined) return;
    const fresh = Math.max(now - then, 0) / seconds;
    const old = known.rates[name];
    // The half-life is one second.
    const share = 1 - 0.5 ** seconds;
    known.rates[name] = old === undefined ? fresh : old + (fresh - old) * share;
  };
  for (const one of after.informers) {
    const old = before.informers.find((other) => other.id === one.id);
    if (!old) continue;
    for (const what of ["added", "updated", "deleted", "received", "receivedBytes"]) {
      note(`${one.id} ${what}`, one[what], old[what]);
    }
    note(`${one.id} delivered`, sum(one.handlers, (handler) => handler.delivered), sum(old.handlers, (handler) => handler.delivered));
    for (const what of ["added", "updated", "deleted"]) {
      const number = one[what] - old[what];
      if (number > 0) flow.send(one.id, what, number);
    }
  }
  for (const queue of after.queues) {
    const old = before.queues.find((other) => other.name === queue.name);
    if (!old) continue;
    for (const what of ["adds", "done", "failed", "retries"]) note(`queue ${queue.name} ${what}`, queue[what], old[what]);
  }
}

const rateOf = (list, what) => sum(list, (one) => known.rates[`${one.id} ${what}`]);
const queueRate = (list, what) => sum(list, (queue) => known.rates[`queue ${queue.name} ${what}`]);
const changesOf = (list) => rateOf(list, "added") + rateOf(list, "updated") + rateOf(list, "deleted");

/** Announces changes of health to screen readers. */
function announce(before, after) {
  if (!before) return;
  const news = after.informers
    .filter((one) => {
      const old = before.informers.find((other) => other.id === one.id);
      return old && old.health !== one.health && (old.health === "broken" || one.health === "broken" || one.health === "live");
    })
    .map((one) => `${one.resource} is ${one.health}`);
  if (news.length) document.getElementById("news").textContent = news.join(", ");
}

// ---- Views -------------------------------------------------------------------------------------------------------------

function draw() {
  const here = place();
  const link = document.getElementById("link");
  link.dataset.is = known.lost ? "lost" : known.overview ? "live" : "new";
  link.textContent = known.lost ? "disconnected" : known.overview ? "live" : "connecting";
  const main = document.getElementById("main");
  known.width = main.clientWidth - parseFloat(getComputedStyle(main).paddingLeft) * 2;
  if (!known.overview) {
    if (known.lost) morphChildren(main, [unreachable()]);
    return;
  }
  morphChildren(document.getElementById("crumbs"), crumbs(here));
  const one = here.informer && informer(here.informer);
  let view;
  if (here.informer && !one) view = [missing(here.informer)];
  else if (here.view === "object") view = objectView(here, one);
  else if (here.view === "informer") view = informerView(here, one);
  else view = overviewView();
  document.title = here.informer ? `${here.key || here.informer} · kube-informer` : "kube-informer";
  morphChildren(main, [known.lost ? unreachable() : null, ...view].filter(Boolean));
}

function crumbs(here) {
  const parts = [];
  if (here.informer) parts.push(h("a", { href: address(here.informer), "aria-current": here.key ? false : "page" }, here.informer));
  if (here.key) parts.push(h("span", { "aria-current": "page" }, here.key));
  return parts;
}

function unreachable() {
  return h("section", { key: "lost", class: "alarm", role: "alert" },
    h("strong", null, "The program does not respond"),
    h("p", { class: "when" }, `Since ${clock(known.lost)}. The page shows the last known data and keeps retrying.`));
}

function missing(id) {
  return h("section", { key: "missing", class: "panel" }, h("p", { class: "empty" }, `Unknown informer "${id}". `,
    h("a", { href: "#/" }, "All informers")));
}

function overviewView() {
  const all = informers();
  return [
    ...alarms(all),
    figures(all, queues()),
    flowPanel("Data flow", null, all, queues()),
    h("div", { key: "plots", class: "two" },
      plotPanel("Changes in caches", all.map((one) => `informer/${one.id}`),
        [["added", 0], ["updated", 1], ["deleted", 2]]),
      queues().length
        ? plotPanel("Completed work", queues().map((queue) => `queue/${queue.name}`), [["done", 0, "added"], ["failed", 1, "deleted"]])
        : null),
    informerTable(all),
    handlerTable(all),
    queues().length ? queueTable(queues()) : null,
  ];
}

function alarms(list) {
  return list.filter((one) => one.health === "broken").map((one) => h("section", { key: `alarm ${one.id}`, class: "alarm" },
    h("strong", null, `${one.resource}: the server does not respond`),
    h("p", null, one.error ? one.error.message : ""),
    h("p", { class: "when" },
      one.silentFor === null ? "There was no response yet. " : `Last response ${lag(one.silentFor)} ago. `,
      one.nextAttempt === null ? "A request is in progress. " : `Next attempt in ${lag(one.nextAttempt)}. `,
      one.synced ? "The cache keeps its objects." : "The cache is not synced yet.")));
}

function figure(name, value, more, kind) {
  return h("div", { class: `figure ${kind || ""}` }, h("div", { class: "name" }, name),
    h("div", { class: "value" }, value), h("div", { class: "more" }, more || "\u00a0"));
}

function figures(all, work) {
  const broken = all.filter((one) => one.health === "broken").length;
  const live = all.filter((one) => one.health === "live").length;
  const backlog = sum(all, (one) => sum(one.handlers, (handler) => handler.backlog));
  const handlers = sum(all, (one) => one.handlers.length);
  const panics = sum(all, (one) => sum(one.handlers, (handler) => handler.panics));
  const silent = Math.max(0, ...all.map((one) => one.silentFor || 0));
  return h("section", { key: "figures", class: "panel figures", "aria-label": "Figures" },
    figure("Informers", [String(live), h("small", null, ` of ${all.length} live`)],
      broken ? `${broken} broken` : "healthy", broken ? "bad" : ""),
    figure("Objects", count.format(sum(all, (one) => one.objects)), bytes(sum(all, (one) => one.bytes))),
    figure("Changes", rate(changesOf(all)), `${bytes(rateOf(all, "receivedBytes"))}/s received`),
    figure("Last event", lag(silent), "longest of all informers", silent > 120 ? "warn" : ""),
    figure("Backlog", count.format(backlog), `${plural(handlers, "handler")}${panics ? `, ${plural(panics, "panic")}` : ""}`,
      panics ? "warn" : ""),
    work.length ? figure("Queue depth", count.format(sum(work, (queue) => queue.queued)),
      `${count.format(sum(work, (queue) => queue.delayed))} delayed, ${count.format(sum(work, (queue) => queue.running))} running`) : null);
}

const STATES = {
  new: "not started", syncing: "syncing", live: "live", connecting: "connecting", broken: "broken", stopped: "stopped",
};
const state = (health) => h("span", { class: `state ${health}` }, STATES[health] || health);

function cell(name, value, kind) {
  return h("td", { class: kind, "data-name": name }, value);
}

function informerTable(all) {
  const head = ["Informer", "State", "Objects", "Size", "Version", "Last event", "Requests", "Relists", "Changes, 5 min", "Errors"];
  const numbers = new Set(["Objects", "Size", "Version", "Last event", "Requests", "Relists", "Changes, 5 min", "Errors"]);
  return h("section", { key: "informers", class: "panel" },
    h("header", null, h("h2", null, "Informers"), h("span", { class: "note" }, "select one to browse its cache")),
    all.length ? h("table", null,
      h("thead", null, h("tr", null, head.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "number" : "" }, name)))),
      h("tbody", null, all.map((one) => h("tr", { key: one.id, "data-informer": one.id },
        h("th", { scope: "row", class: "name-cell" }, h("a", { href: address(one.id) }, one.id), " ",
          one.namespaces.length ? h("span", { class: "soft" }, `in ${one.namespaces.join(", ")}`) : null),
        h("td", null, state(one.health)),
        cell("objects", count.format(one.objects), "number"),
        cell("size", bytes(one.bytes), "number"),
        cell("version", one.version === null ? "–" : one.version, "number mono"),
        cell("last event", lag(one.silentFor), `number ${one.silentFor > 120 ? "warn" : ""}`),
        cell("requests", count.format(one.lists + one.streamingLists + one.watches), "number"),
        cell("relists", count.format(one.relists), "number"),
        cell("changes", spark(`informer/${one.id}`), "number"),
        cell("errors", count.format(one.errors), `number ${one.errors ? (one.health === "broken" ? "bad" : "soft") : "soft"}`))))) 
      : h("p", { class: "empty" }, "No informers yet. Informers of a factory appear when they are created."));
}

function handlerTable(all) {
  const rows = all.flatMap((one) => one.handlers.map((handler, at) => ({ one, handler, at })));
  const head = [["Handler", ""], ["Informer", ""], ["Synced", ""], ["Backlog", "number"], ["Delivered", "number"],
    ["Time spent", "number"], ["Running for", "number"], ["Panics", "number"]];
  return h("section", { key: "handlers", class: "panel" },
    h("header", null, h("h2", null, "Handlers"), h("span", { class: "note" }, "each has its own queue and task")),
    rows.length ? h("table", null,
      h("thead", null, h("tr", null, head.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
      h("tbody", null, rows.map(({ one, handler, at }) => h("tr", { key: `${one.id} ${at} ${handler.name}` },
        h("th", { scope: "row", class: "name-cell" }, handler.name),
        cell("of", h("a", { href: address(one.id) }, one.id)),
        cell("synced", handler.synced ? "yes" : "not yet", handler.synced ? "soft" : "warn"),
        cell("backlog", count.format(handler.backlog), `number ${handler.backlog > 100 ? "warn" : ""}`),
        cell("delivered", count.format(handler.delivered), "number"),
        cell("time", span(handler.timeSpent), "number"),
        cell("running", handler.runningFor === null ? "–" : span(handler.runningFor), `number ${handler.runningFor > 5 ? "warn" : ""}`),
        cell("panics", count.format(handler.panics), `number ${handler.panics ? "bad" : "soft"}`)))))
      : h("p", { class: "empty" }, "No handlers."));
}

function queueTable(work) {
  const head = [["Queue", ""], ["Depth", "number"], ["Oldest", "number"], ["Running", "number"], ["Delayed", "number"],
    ["Next due", "number"], ["Added", "number"], ["Retries", "number"], ["Done", "number"], ["Failed", "number"], ["Given up", "number"]];
  return h("section", { key: "queues", class: "panel" },
    h("header", null, h("h2", null, "Work queues"), h("span", { class: "note" }, "keys that wait for workers")),
    h("table", null,
      h("thead", null, h("tr", null, head.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))),
      h("tbody", null, work.map((queue) => h("tr", { key: queue.name, "data-queue": queue.name },
        h("th", { scope: "row", class: "name-cell" }, queue.name, queue.shutDown ? " (shut down)" : ""),
        cell("depth", count.format(queue.queued), "number"),
        cell("oldest", span(queue.oldest), `number ${queue.oldest > 30 ? "warn" : ""}`),
        cell("running", count.format(queue.running), "number"),
        cell("delayed", count.format(queue.delayed), "number"),
        cell("next due", lag(queue.nextDue), "number soft"),
        cell("added", count.format(queue.adds), "number"),
        cell("retries", count.format(queue.retries), "number"),
        cell("done", count.format(queue.done), "number"),
        cell("failed", count.format(queue.failed), `number ${queue.failed ? "warn" : "soft"}`),
        cell("given up", count.format(queue.givenUp), `number ${queue.givenUp ? "bad" : "soft"}`))))));
}

// ---- Data flow ----------------------------------------------------------------------------------------------------------

function flowPanel(title, id, list, work) {
  return h("section", { key: "way", class: "panel" },
    h("header", null, h("h2", null, title),
      h("span", { class: "note" }, "each dot is a change, or several if they arrive together")),
    flow.draw(id, stages(list, work)));
}

function stages(list, work) {
  const broken = list.some((one) => one.health === "broken");
  const live = list.filter((one) => one.health === "live").length;
  const requests = sum(list, (one) => one.lists + one.streamingLists + one.watches);
  const backlog = sum(list, (one) => sum(one.handlers, (handler) => handler.backlog));
  const queued = sum(list, (one) => one.queued);
  const all = [
    { name: "API server", big: broken ? "no response" : live === list.length ? "watched" : `${live} of ${list.length}`,
      small: plural(requests, "request"), broken },
    { name: "Reflector", big: rate(rateOf(list, "received")), small: `${bytes(rateOf(list, "receivedBytes"))}/s` },
    { name: "Delta queue", big: count.format(queued), small: "waiting", busy: queued > 100 },
    { name: "Cache", big: count.format(sum(list, (one) => one.objects)), small: bytes(sum(list, (one) => one.bytes)) },
    { name: "Handlers", big: count.format(backlog), small: `backlog of ${sum(list, (one) => one.handlers.length)}`, busy: backlog > 100 },
  ];
  const rates = [rateOf(list, "received"), rateOf(list, "received"), changesOf(list), rateOf(list, "delivered")];
  if (work.length) {
    const inLine = sum(work, (queue) => queue.queued);
    const delayed = sum(work, (queue) => queue.delayed);
    all.push({ name: work.length === 1 ? "Work queue" : plural(work.length, "work queue"), big: count.format(inLine), small: `${count.format(delayed)} delayed`,
      busy: inLine > 100 });
    all.push({ name: "Workers", big: `${count.format(sum(work, (queue) => queue.running))} busy`,
      small: `${count.format(sum(work, (queue) => queue.failed))} failed` });
    rates.push(queueRate(work, "adds"), queueRate(work, "done") + queueRate(work, "failed"));
  }
  return { all, rates, broken };
}

/** Draws the stages and moves dots between them. It manages the dots itself; the rest is drawn by `h`. */
const flow = {
  id: null,
  places: [],
  dots: [],
  running: false,

  draw(id, { all, rates, broken }) {
    const width = Math.max(280, known.width - 2);
    const upright = width < 720;
    const gap = upright ? 26 : Math.min(58, (width - 28) / all.length * 0.3);
    const wide = upright ? width - 28 : (width - 28 - gap * (all.length - 1)) / all.length;
    const high = upright ? 46 : 78;
    const height = upright ? 14 + all.length * (high + gap) - gap + 14 : high + 32;
    const boxes = all.map((stage, at) => ({
      ...stage,
      x: upright ? 14 : 14 + at * (wide + gap),
      y: upright ? 14 + at * (high + gap) : 16,
    }));
    this.id = id;
    this.places = boxes.map((box) => ({ x: box.x + wide / 2, y: box.y + high / 2 }));
    const wires = boxes.slice(1).map((box, at) => {
      const from = boxes[at];
      const cut = broken && at === 0;
      const [x1, y1, x2, y2] = upright
        ? [from.x + wide / 2, from.y + high, box.x + wide / 2, box.y]
        : [from.x + wide, from.y + high / 2, box.x, box.y + high / 2];
      const label = upright
        ? h("text", { class: "rate", x: x1 + 10, y: (y1 + y2) / 2 + 4 }, rate(rates[at]))
        : h("text", { class: "rate", x: (x1 + x2) / 2, y: y1 - 9, "text-anchor": "middle" }, rate(rates[at]));
      return [h("line", { class: `wire ${cut ? "cut" : ""}`, x1, y1, x2, y2 }), label];
    });
    const words = all.map((stage) => `${stage.name}: ${stage.big}, ${stage.small}`).join("; ");
    return h("svg", { class: "way", height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
      wires,
      h("g", { "data-own": true, class: "dots", key: "dots" }),
      boxes.map((box) => h("g", { class: `room ${box.broken ? "broken" : ""} ${box.busy ? "busy" : ""}` },
        h("rect", { x: box.x, y: box.y, width: wide, height: high, rx: 8 }),
        upright
          ? [h("text", { class: "title", x: box.x + 12, y: box.y + 28 }, box.name),
            h("text", { class: "big", x: box.x + wide - 12, y: box.y + 21, "text-anchor": "end" }, box.big),
            h("text", { class: "small", x: box.x + wide - 12, y: box.y + 37, "text-anchor": "end" }, box.small)]
          : [h("text", { class: "title", x: box.x + 12, y: box.y + 21 }, box.name),
            h("text", { class: "big", x: box.x + 12, y: box.y + 46 }, box.big),
            h("text", { class: "small", x: box.x + 12, y: box.y + 65 }, box.small)])));
  },

  /** Starts dots for the changes of an informer. */
  send(id, what, number) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if ((this.id && this.id !== id) || this.dots.length > 60) return;
    for (let at = 0; at < Math.min(number, 5); at += 1) {
      this.dots.push({ what, began: performance.now() + at * 90 + Math.random() * 120, element: null });
    }
    if (!this.running) {
      this.running = true;
      requestAnimationFrame((now) => this.move(now));
    }
  },

  move(now) {
    const layer = document.querySelector(".way .dots");
    const legs = this.places.length - 1;
    this.dots = this.dots.filter((dot) => {
      const gone = (now - dot.began) / 340;
      if (gone >= legs || !layer) {
        if (dot.element) dot.element.remove();
        return false;
      }
      if (gone < 0) return true;
      if (!dot.element || !dot.element.isConnected) {
        dot.element = h("circle", { class: `dot ${dot.what}`, r: 4 });
        layer.append(dot.element);
      }
      const leg = Math.floor(gone);
      const [from, to] = [this.places[leg], this.places[leg + 1]];
      dot.element.setAttribute("cx", from.x + (to.x - from.x) * (gone - leg));
      dot.element.setAttribute("cy", from.y + (to.y - from.y) * (gone - leg));
      return true;
    });
    this.running = this.dots.length > 0;
    if (this.running) requestAnimationFrame((next) => this.move(next));
  },
};

// ---- Plots ---------------------------------------------------------------------------------------------------------------

const SPAN = 300000;

/** Returns the rate per second between consecutive samples, summed over the names. */
function series(names, column) {
  const points = [];
  for (let at = 1; at < known.samples.length; at += 1) {
    const [before, after] = [known.samples[at - 1], known.samples[at]];
    const seconds = (after.at - before.at) / 1000;
    const happened = sum(names, (name) => {
      const [then, now] = [before.counts[name], after.counts[name]];
      return then && now ? Math.max(0, now[column] - then[column]) : 0;
    });
    points.push({ at: after.at, from: before.at, value: seconds > 0 ? happened / seconds : 0 });
  }
  return points;
}

function plotPanel(title, names, columns) {
  const width = Math.max(260, known.width < 760 ? known.width - 2 : (known.width - 14) / 2 - 2);
  const [height, left, right, top, bottom] = [150, 44, 12, 12, 20];
  const now = known.overview.time;
  const layers = columns.map(([name, column, colour]) => ({ name, colour: colour || name, points: series(names, column) }));
  const totals = (layers[0] ? layers[0].points : []).map((_, at) => sum(layers, (layer) => layer.points[at].value));
  const most = nice(Math.max(1, ...totals));
  const x = (at) => left + (width - left - right) * Math.min(1, Math.max(0, 1 - (now - at) / SPAN));
  const y = (value) => top + (height - top - bottom) * (1 - value / most);
  const base = totals.map(() => 0);
  const areas = layers.map((layer) => {
    if (!layer.points.length) return null;
    const lower = base.slice();
    layer.points.forEach((point, at) => { base[at] += point.value; });
    // Steps, because a rate is constant between two samples.
    const up = layer.points.map((point, at) => `${x(point.from).toFixed(1)} ${y(base[at]).toFixed(1)} ${x(point.at).toFixed(1)} ${y(base[at]).toFixed(1)}`);
    const down = layer.points.map((point, at) => `${x(point.at).toFixed(1)} ${y(lower[at]).toFixed(1)} ${x(point.from).toFixed(1)} ${y(lower[at]).toFixed(1)}`).reverse();
    return h("path", { class: `fill-${layer.colour}`, "fill-opacity": .85, d: `M${up.join("L")}L${down.join("L")}Z` });
  });
  const hovered = known.hover && known.hover.title === title ? known.hover.at : null;
  const chosen = layers[0] && layers[0].points.length
    ? (hovered === null ? layers[0].points.length - 1 : Math.max(0, layers[0].points.findIndex((point) => point.at >= hovered)))
    : -1;
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width * width;
    known.hover = { title, at: now - SPAN * (1 - (share - left) / (width - left - right)) };
    draw();
  };
  const words = layers.map((layer) => `${layer.name} ${rate(chosen < 0 ? 0 : layer.points[chosen].value)}`).join(", ");
  return h("section", { key: `plot ${title}`, class: "panel" },
    h("header", null, h("h2", null, title), h("span", { class: "note" }, "per second, last 5 minutes")),
    h("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${words}`,
      onpointermove: point, onpointerleave: () => { known.hover = null; draw(); } },
      [0, .5, 1].map((share) => [
        h("line", { class: "grid", x1: left, x2: width - right, y1: y(most * share), y2: y(most * share) }),
        h("text", { class: "axis", x: left - 8, y: y(most * share) + 4, "text-anchor": "end" }, short(most * share))]),
      [5, 4, 3, 2, 1, 0].map((minutes) => h("text", { class: "axis", x: x(now - minutes * 60000), y: height - 5,
        "text-anchor": minutes === 0 ? "end" : minutes === 5 ? "start" : "middle" }, minutes === 0 ? "now" : `-${minutes} min`)),
      h("g", { key: "areas" }, areas.filter(Boolean)),
      hovered !== null && chosen >= 0
        ? h("line", { class: "mark", x1: x(layers[0].points[chosen].at), x2: x(layers[0].points[chosen].at), y1: top, y2: height - bottom }) : null),
    h("div", { class: "legend", "aria-hidden": "true" },
      layers.map((layer) => h("span", null, h("i", { class: `fill-${layer.colour}` }), `${layer.name} `,
        h("b", null, rate(chosen < 0 ? 0 : layer.points[chosen].value)))),
      hovered !== null && chosen >= 0 ? h("span", null, `at ${clock(layers[0].points[chosen].at)}`) : null));
}

/** Rounds up to a number that is easy to read. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

const short = (value) => (value >= 1000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toFixed(2)));

function spark(name) {
  const [width, height] = [96, 22];
  const now = known.overview.time;
  const points = [0, 1, 2].map((column) => series([name], column));
  const totals = points[0].map((_, at) => sum(points, (list) => list[at].value));
  const most = Math.max(0.5, ...totals);
  const d = totals.map((value, at) => {
    const x = width * Math.max(0, 1 - (now - points[0][at].at) / SPAN);
    return `${at ? "L" : "M"}${x.toFixed(1)} ${(height - 2 - (height - 4) * value / most).toFixed(1)}`;
  }).join("");
  return h("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": rate(totals.at(-1) || 0) }, d ? h("path", { d }) : null);
}

// ---- One informer -----------------------------------------------------------------------------------------------------------

function informerView(here, one) {
  return [
    h("section", { key: "title" }, h("h1", null, one.kind, " ", state(one.health)),
      h("div", { class: "soft" }, `${one.apiVersion}, ${one.namespaces.length ? `in ${one.namespaces.join(", ")}` : "all namespaces"}`)),
    ...alarms([one]),
    h("section", { key: "figures", class: "panel figures", "aria-label": "Figures" },
      figure("Objects", count.format(one.objects), bytes(one.bytes)),
      figure("Version", one.version === null ? "–" : one.version, one.syncedAfter === null ? "not synced yet" : `synced after ${span(one.syncedAfter)}`),
      figure("Last event", lag(one.silentFor), one.watchedFor === null ? "not watched" : `watched for ${lag(one.watchedFor)}`),
      figure("Changes", rate(changesOf([one])), `+${count.format(one.added)} ~${count.format(one.updated)} −${count.format(one.deleted)}`),
      figure("Requests", count.format(one.lists + one.streamingLists + one.watches), `${plural(one.lists + one.streamingLists, "list")}, ${count.format(one.watches)} watches`),
      figure("Received", bytes(one.receivedBytes), `decoded in ${span(one.decodeTime)}`),
      figure("Relists", count.format(one.relists), one.relistCauses.map(([cause, times]) => `${cause} ${times}`).join(", ") || "none"),
      figure("Errors", count.format(one.errors), one.error && one.error.ago !== null ? `last ${lag(one.error.ago)} ago` : "none", one.health === "broken" ? "bad" : "")),
    one.error && one.health !== "broken" ? h("details", { key: "error", class: "panel" },
      h("summary", { class: "empty" }, "Last error (resolved)"), h("pre", null, one.error.message)) : null,
    flowPanel("Data flow", one.id, [one], []),
    objectsPanel(here, one),
    changesPanel(one),
    plotPanel("Changes in the cache", [`informer/${one.id}`], [["added", 0], ["updated", 1], ["deleted", 2]]),
    handlerTable([one]),
  ];
}

/** Filters that were typed but not yet requested. They are shown already. */
let typed = new Map();
let typing = null;

/** Applies a filter, after a short delay unless `atOnce` is set. */
function filterBy(name, value, atOnce) {
  clearTimeout(typing);
  typed.set(name, value);
  typing = setTimeout(() => {
    const here = place();
    const parameters = new URLSearchParams(here.parameters);
    for (const [name, value] of typed) {
      if (value) parameters.set(name, value); else parameters.delete(name);
      if (name !== "offset") parameters.delete("offset");
    }
    typed = new Map();
    history.replaceState(null, "", address(here.informer, here.key, parameters));
    look();
  }, atOnce ? 0 : 200);
}

function objectsPanel(here, one) {
  const asked = (name) => (typed.has(name) ? typed.get(name) : here.parameters.get(name)) || "";
  const found = known.objects && known.objects.question.includes(`informer=${encodeURIComponent(one.id)}`) ? known.objects : null;
  const [index, ...rest] = asked("index").split("=");
  const input = (name, label, example, kind) => h("label", { class: kind }, label,
    h("input", { name, value: asked(name), placeholder: example, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      oninput: (event) => filterBy(name, event.target.value) }));
  const offset = Number(asked("offset")) || 0;
  const limit = Number(asked("limit")) || 50;
  const proposed = known.indexValues[`${one.id} ${index}`];
  const byIndex = one.secret || !one.indexes.length ? null : h("label", { class: "wide" }, "Index",
    h("span", { class: "pair" },
      h("select", { name: "index-name", "aria-label": "Index", onchange: (event) => filterBy("index", event.target.value && `${event.target.value}=`, true) },
        h("option", { value: "" }, "any"), one.indexes.map((name) => h("option", { value: name, selected: name === index }, name))),
      h("input", { name: "index-value", "aria-label": "Value of the index", value: rest.join("="), placeholder: "value", disabled: !index, list: "index-values",
        autocomplete: "off", oninput: (event) => filterBy("index", `${index}=${event.target.value}`) })),
    h("datalist", { id: "index-values" }, (proposed ? proposed.values : []).map((value) => h("option", { value }))));
  const from = found && found.total ? offset + 1 : 0;
  const to = found ? offset + found.objects.length : 0;
  return h("section", { key: "objects", class: "panel", "aria-label": "Objects" },
    h("header", null, h("h2", null, "Objects"),
      h("span", { class: "note", role: "status" }, found ? `${count.format(found.total)} of ${count.format(one.objects)}` : "loading"),
      one.whole ? null : h("span", { class: "note" }, "metadata only; use browse() to show complete objects"),
      one.secret ? h("span", { class: "note" }, "values of Secrets are not shown and cannot be filtered") : null),
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      input("name", "Name contains", "cart"),
      input("namespace", "Namespace", "shop"),
      input("labels", "Labels", "app=cart,tier!=db"),
      input("field", "Field", one.whole ? ".spec.nodeName=north" : ".metadata.uid=…"),
      byIndex),
    found && found.refused ? h("div", { class: "refused", role: "alert" }, found.refused) : null,
    found && found.objects.length ? objectTable(one, found) : h("p", { class: "empty" }, found ? "No matching objects." : "Loading …"),
    found && (found.total > limit || offset) ? h("div", { class: "pages" },
      h("span", null, `${count.format(from)}–${count.format(to)} of ${count.format(found.total)}`),
      h("button", { type: "button", disabled: offset === 0, onclick: () => filterBy("offset", String(Math.max(0, offset - limit) || ""), true) }, "Previous"),
      h("button", { type: "button", disabled: to >= found.total, onclick: () => filterBy("offset", String(offset + limit), true) }, "Next")) : null);
}

const GOOD = new Set(["Running", "True", "Succeeded", "Active", "Bound", "Done", "Ready", "Complete"]);
const POOR = new Set(["Failed", "False", "Unknown", "Error", "Lost"]);

function objectTable(one, found) {
  const spaced = found.objects.some((row) => row.namespace);
  return h("table", null,
    h("thead", null, h("tr", null,
      h("th", { scope: "col" }, "Name"), spaced ? h("th", { scope: "col" }, "Namespace") : null,
      h("th", { scope: "col" }, "Facts"), h("th", { scope: "col" }, "Labels"),
      h("th", { scope: "col", class: "number" }, "Version"), h("th", { scope: "col", class: "number" }, "Age"))),
    h("tbody", null, found.objects.map((row) => h("tr", { key: row.key, "data-key": row.key, class: found.fresh && found.fresh.has(row.key) ? "fresh" : false },
      h("th", { scope: "row", class: "name-cell mono" }, h("a", { href: address(one.id, row.key) }, row.name)),
      spaced ? cell("in", row.namespace || "") : null,
      h("td", { class: "wide" }, h("div", { class: "tags" }, row.terminating ? h("span", { class: "tag warn" }, "terminating") : null,
        row.facts.map(([name, value]) => h("span", { class: `tag ${GOOD.has(value) ? "good" : POOR.has(value) ? "bad" : value === "Pending" ? "warn" : ""}`, title: `${name}: ${value}` }, `${name} ${value}`)))),
      h("td", { class: "wide" }, h("div", { class: "tags" }, Object.entries(row.labels || {}).map(([name, value]) => h("span", { class: "tag", title: `${name}=${value}` }, `${name}=${value}`)))),
      cell("version", row.version, "number mono soft"),
      cell("age", row.created ? lag((known.overview.time - Date.parse(row.created)) / 1000) : "–", "number soft")))));
}

function changesPanel(one) {
  const list = known.changes && known.changes.informer === one.id ? known.changes.list : [];
  return h("section", { key: "changes", class: "panel" },
    h("header", null, h("h2", null, "Last changes"), h("span", { class: "note" }, "kept in memory; the oldest are dropped")),
    list.length ? h("ol", { class: "changes" }, list.slice(0, 12).map((change) => changeItem(one, change, true)))
      : h("p", { class: "empty" }, "No changes since the history started."));
}

function changeItem(one, change, named) {
  const value = (it) => (it !== null && typeof it === "object" ? JSON.stringify(it) : String(it));
  return h("li", { key: `${change.at} ${change.key} ${change.version} ${change.what}` },
    h("div", { class: "head" }, h("span", { class: `what ${change.what}` }, change.what),
      named ? h("a", { class: "mono", href: address(one.id, change.key) }, change.key) : null,
      h("span", { class: "mono soft" }, `version ${change.version}`),
      h("time", { datetime: new Date(change.at).toISOString() }, clock(change.at))),
    change.differences.length ? h("div", { class: "diff" }, change.differences.slice(0, named ? 6 : 200).map((difference) => h("div", null,
      h("span", { class: "path" }, difference.path), " ",
      difference.old === null ? null : h("del", null, value(difference.old)),
      difference.old === null || difference.new === null ? null : " → ",
      difference.new === null ? null : h("ins", null, value(difference.new)))),
      named && change.differences.length > 6 ? h("div", { class: "soft" }, `and ${change.differences.length - 6} more`) : null)
      : change.what === "updated" ? h("div", { class: "diff soft" }, "no visible difference") : null);
}

// ---- One object ---------------------------------------------------------------------------------------------------------------

function objectView(here, one) {
  const shown = known.object && known.object.informer === one.id && known.object.key === here.key ? known.object : null;
  const form = here.parameters.get("as") === "json" ? "json" : "yaml";
  const text = shown && shown.object
    ? (form === "json" ? JSON.stringify(shown.object, null, 2) : yaml(shown.object).trimStart()) : null;
  const as = (name) => h("button", { type: "button", "aria-pressed": String(form === name), onclick: () => {
    const parameters = new URLSearchParams(here.parameters);
    parameters.set("as", name);
    history.replaceState(null, "", address(one.id, here.key, parameters));
    draw();
  } }, name.toUpperCase());
  const list = shown ? shown.history : [];
  return [
    h("section", { key: "title" }, h("h1", { class: "name-cell" }, here.key), h("div", { class: "soft" }, `${one.kind}, ${one.apiVersion}`)),
    ...alarms([one]),
    h("div", { key: "object", class: "two" },
      h("section", { class: "panel", "aria-label": "Object" },
        h("header", null, h("h2", null, "Cached object"), h("span", { class: "tail" }, as("yaml"), as("json"),
          h("button", { type: "button", class: "quiet", disabled: !text, onclick: () => copy(text) }, known.copied ? "Copied" : "Copy"))),
        text !== null ? h("pre", { tabindex: 0, id: "object-text" }, text)
          : h("p", { class: "empty" }, !shown ? "Loading …" : shown.refused || "The object is no longer in the cache. Its last changes are still available.")),
      h("section", { class: "panel", "aria-label": "History" },
        h("header", null, h("h2", null, "Changes of this object"), h("span", { class: "note" }, list.length ? plural(list.length, "change") : "")),
        list.length ? h("ol", { class: "changes" }, list.map((change) => changeItem(one, change, false)))
          : h("p", { class: "empty" }, "No changes since the history started."))),
  ];
}

function copy(text) {
  if (!navigator.clipboard) return;
  navigator.clipboard.writeText(text).then(() => {
    known.copied = true;
    draw();
    setTimeout(() => { known.copied = false; draw(); }, 1500);
  }, () => {});
}

// ---- Theme ----------------------------------------------------------------------------------------------------------------------

const THEMES = ["auto", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try { return localStorage.getItem("kube-informer-theme") || "auto"; } catch { return "auto"; }
}

function setTheme(theme) {
  const button = document.getElementById("theme");
  document.documentElement.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
  button.textContent = { auto: "Theme: auto", light: "Theme: light", dark: "Theme: dark" }[theme];
  button.onclick = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("kube-informer-theme", next); } catch { /* the setting is not saved */ }
    setTheme(next);
  };
}

// ---- Start ----------------------------------------------------------------------------------------------------------------------

setTheme(remembered());
dark.addEventListener("change", () => setTheme(remembered()));
document.addEventListener("visibilitychange", look);
addEventListener("resize", draw);
addEventListener("hashchange", () => {
  clearTimeout(typing);
  typed = new Map();
  known.hover = null;
  draw();
  document.getElementById("main").focus({ preventScroll: true });
  scrollTo(0, 0);
  look();
});
look();
