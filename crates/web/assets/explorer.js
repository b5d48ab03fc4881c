// Enhancements of pages that also work without scripts: copy buttons, colour scheme, search suggestions, live lists.

document.documentElement.classList.add("scripted");

// The path below which the explorer is served.
const BASE = document.documentElement.dataset.base;

// Copying. Browsers offer the clipboard only to secure pages; on plain http the text is copied from a hidden field.
function copyFromField(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  field.readOnly = true;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return copied;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyFromField(text);
  }
}

function toast(text) {
  document.querySelector(".toast")?.remove();
  const note = document.createElement("p");
  note.className = "toast";
  note.setAttribute("role", "alert");
  note.textContent = text;
  document.body.append(note);
  setTimeout(() => note.remove(), 10000);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-of]");
  if (!button) return;
  // Long texts are on the page once, and copied from there.
  const { copy: text, copyOf } = button.dataset;
  if (!(await copy(text ?? document.getElementById(copyOf).textContent))) {
    toast(text ? `The browser does not allow copying. Copy it by hand: ${text}` : "The browser does not allow copying. Select the text and copy it by hand.");
    return;
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
});

// The selected entry of a bar that is wider than the screen is scrolled into view.
for (const entry of document.querySelectorAll(".sections [aria-current]")) {
  const bar = entry.parentElement;
  bar.scrollLeft = entry.offsetLeft - bar.offsetLeft - (bar.clientWidth - entry.offsetWidth) / 2;
}

// A switch between the tabs of a page keeps the scroll position.
const SCROLL = "scroll-of-tabs";
for (const tab of document.querySelectorAll(".tabs a")) {
  tab.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    try {
      sessionStorage.setItem(SCROLL, JSON.stringify([tab.pathname, scrollY]));
    } catch {
      // Storage is blocked: the new tab starts at the top.
    }
  });
}
try {
  const [path, position] = JSON.parse(sessionStorage.getItem(SCROLL) ?? "[]");
  sessionStorage.removeItem(SCROLL);
  if (path === location.pathname) scrollTo({ top: position, behavior: "instant" });
} catch {
  // Storage is blocked.
}

// The server does not know by which name it is reached, unless the operator told it.
for (const commands of document.querySelectorAll("[data-server]"))
  commands.textContent = commands.textContent.replaceAll(commands.dataset.server, location.origin);

// Colour scheme
document.querySelector("[data-scheme]")?.addEventListener("click", () => {
  const root = document.documentElement;
  const shown = root.dataset.scheme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.scheme = shown === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("scheme", root.dataset.scheme);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
});

// Charts: one stop of the keyboard each, arrow keys move between bars. The value of a bar is shown while it is focused or pointed at.
document.addEventListener("keydown", (event) => {
  const bar = event.target.closest(".chart rect");
  if (!bar) return;
  const bars = bar.parentElement;
  const next = { ArrowLeft: bar.previousElementSibling, ArrowRight: bar.nextElementSibling, Home: bars.firstElementChild, End: bars.lastElementChild }[event.key];
  if (!next) return;
  event.preventDefault();
  bar.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});
function showValue(event) {
  const bar = event.target.closest?.(".chart rect");
  const value = bar?.closest(".chart").querySelector(".value");
  if (value) value.textContent = event.type === "focusin" || event.type === "pointerover" ? bar.getAttribute("aria-label") : "";
}
for (const type of ["focusin", "focusout", "pointerover", "pointerout"]) document.addEventListener(type, showValue);

// Updates ages while a page is open. The same rules as in view/time.rs.
function ago(seconds) {
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86400);
  return days === 1 ? "1 day ago" : `${days} days ago`;
}
// Ages or exact times, as chosen with the button in the footer.
const times = document.querySelector("[data-times]");
let exact = false;
try {
  exact = localStorage.getItem("times") === "exact";
} catch {
  // Storage is blocked.
}
function showTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
    const text = exact ? time.dateTime.replace("T", " ").replace("Z", "") : ago(seconds);
    if (time.textContent !== text) time.textContent = text;
  }
  if (times) times.textContent = exact ? "Show ages" : "Show exact times (UTC)";
}
times?.addEventListener("click", () => {
  exact = !exact;
  try {
    localStorage.setItem("times", exact ? "exact" : "age");
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
  showTimes();
});
showTimes();
setInterval(() => document.hidden || showTimes(), 1000);

// Search: `/` focuses the box, which shows suggestions.
const box = document.querySelector("#q");
const form = box?.form;
let list = null;
let chosen = -1;

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    box?.focus();
    box?.select();
  }
});

function closeList() {
  list?.remove();
  list = null;
  chosen = -1;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function choose(index) {
  const options = [...list.children];
  chosen = (index + options.length) % options.length;
  options.forEach((option, position) => option.setAttribute("aria-selected", String(position === chosen)));
  box.setAttribute("aria-activedescendant", options[chosen].id);
}

function showList(matches) {
  closeList();
  if (matches.length === 0 || document.activeElement !== box) return;
  list = document.createElement("ul");
  list.className = "suggestions";
  list.id = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  matches.forEach((match, index) => {
    const option = document.createElement("li");
    option.id = `suggestion-${index}`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.dataset.href = BASE + match.href;
    for (const [element, kind, text] of [["span", "muted", match.kind], ["bdi", "", match.title], ["span", "warn", match.warning], ["span", "muted", match.detail]]) {
      if (!text) continue;
      const part = document.createElement(element);
      if (kind) part.className = kind;
      part.textContent = text;
      option.append(part);
    }
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      location.href = option.dataset.href;
    });
    list.append(option);
  });
  form.append(list);
  box.setAttribute("aria-expanded", "true");
}

if (box) {
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-expanded", "false");
  box.setAttribute("aria-controls", "suggestions");
  box.setAttribute("aria-autocomplete", "list");
  let timer = 0;
  let request = null;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    request?.abort();
    const query = box.value.trim();
    if (query === "") return closeList();
    timer = setTimeout(async () => {
      request = new AbortController();
      try {
        const response = await fetch(`${BASE}/search/suggest?q=${encodeURIComponent(query)}`, { signal: request.signal });
        if (response.ok) showList(await response.json());
      } catch (error) {
        if (error.name !== "AbortError") closeList();
      }
    }, 120);
  });
  box.addEventListener("keydown", (event) => {
    if (!list) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : chosen === -1 ? 0 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = list.children[chosen].dataset.href;
    } else if (event.key === "Escape") {
      event.preventDefault();
      closeList();
    }
  });
  box.addEventListener("blur", closeList);
}

// Tools link to /address/0x...#code, which is a tab here.
const code = document.querySelector("a#code:not([aria-current])");
if (code && location.hash === "#code") location.replace(`${code.href}#code`);

// A verification in progress: the page is loaded again when what it waits for changes.
const job = document.querySelector("[data-job]");
if (job) {
  let before;
  setInterval(async () => {
    const { status, waitsFor } = await (await fetch(`${BASE}/api/v1/verify/jobs/${job.dataset.job}`)).json();
    const now = `${status} ${waitsFor}`;
    if (before !== undefined && before !== now || status !== "pending") location.reload();
    before = now;
  }, 1000);
}

// Live parts: on a new block, the page is fetched again and merged into this one, node by node, so that nothing is replaced that
// is still the same. `data-live="now"` marks parts that are updated at once. All others wait while the reader points at a list,
// has the focus or a selection in one, or has scrolled.
const live = [...document.querySelectorAll("[data-live]")];
const lists = live.filter((part) => part.dataset.live !== "now");
const canHover = matchMedia("(hover: hover)");
const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");
const SCROLLED = 8;

function isUsed(part) {
  const selection = getSelection();
  return part.contains(document.activeElement) || (selection && !selection.isCollapsed && selection.containsNode(part, true));
}

function isReading() {
  if (scrollY > SCROLLED) return true;
  const isScrolled = (part) => [...part.querySelectorAll(".scroll")].some((box) => box.scrollLeft > 0);
  return lists.some((part) => isUsed(part) || isScrolled(part) || (canHover.matches && part.matches(":hover")));
}

/// The rows of a list by key. A key that occurs again gets a number.
function rowsByKey(body) {
  const rows = new Map();
  for (const row of body.rows) {
    let key = row.dataset.key;
    for (let number = 2; rows.has(key); number += 1) key = `${row.dataset.key} ${number}`;
    rows.set(key, row);
  }
  return rows;
}

/// Fixes the widths of the columns: otherwise every new row would move all columns a little.
function fixColumns(table) {
  if (table.style.tableLayout || getComputedStyle(table).display !== "table") return;
  const heads = [...table.querySelectorAll("th")];
  const widths = heads.map((head) => head.getBoundingClientRect().width);
  heads.forEach((head, index) => (head.style.width = `${widths[index]}px`));
  table.style.tableLayout = "fixed";
}

function freeColumns(table) {
  table.style.tableLayout = "";
  for (const head of table.querySelectorAll("th")) head.style.width = "";
}

addEventListener("resize", () => document.querySelectorAll("table").forEach(freeColumns));

/// Inserts new rows, removes those that are gone and updates the others. Rows that move do so smoothly.
function mergeRows(body, other) {
  const [before, after] = [rowsByKey(body), rowsByKey(other)];
  const tops = new Map([...before.values()].map((row) => [row, row.getBoundingClientRect().top]));
  const table = body.closest("table");
  fixColumns(table);
  for (const [key, row] of before) {
    if (!after.has(key)) row.remove();
  }
  let next = body.rows[0] ?? null;
  const added = [];
  for (const [key, row] of after) {
    const known = before.get(key);
    if (known === undefined) {
      row.classList.add("fresh");
      body.insertBefore(row, next);
      added.push(row);
    } else if (known === next) {
      merge(known, row);
      next = known.nextElementSibling;
    } else {
      merge(known, row);
      body.insertBefore(known, next);
    }
  }
  if (added.some((row) => [...row.cells].some((cell) => cell.scrollWidth > cell.clientWidth + 1))) freeColumns(table);
  for (const [row, top] of tops) {
    const moved = row.isConnected ? top - row.getBoundingClientRect().top : 0;
    if (Math.abs(moved) < 1) continue;
    const frames = [{ transform: `translateY(${moved}px)` }, { transform: "none" }];
    row.animate(frames, { duration: prefersStill.matches ? 1 : 250, easing: "ease-out" });
  }
}

/// Attributes that scripts and readers set.
const OWN_ATTRIBUTES = new Set(["class", "style", "open"]);

/// Makes a node equal to another one, with as few changes as possible.
function merge(node, other) {
  if (node.isEqualNode(other)) return;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    node.data = other.data;
    return;
  }
  for (const { name, value } of other.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  for (const { name } of [...node.attributes]) {
    if (!other.hasAttribute(name) && !OWN_ATTRIBUTES.has(name)) node.removeAttribute(name);
  }
  if (node.localName === "tbody" && other.querySelector("[data-key]")) {
    mergeRows(node, other);
    return;
  }
  const [children, others] = [[...node.childNodes], [...other.childNodes]];
  const isAlike = children.length === others.length && children.every((child, index) => child.nodeName === others[index].nodeName);
  if (isAlike) children.forEach((child, index) => merge(child, others[index]));
  else node.replaceChildren(...others);
}

/// The number of new rows as text, with a plus if even the last one is new; empty without new rows.
function countNew(part, other) {
  let count = 0;
  for (const body of other.querySelectorAll("tbody")) {
    const own = part.querySelector("tbody");
    if (!own) continue;
    const [known, rows] = [rowsByKey(own), [...rowsByKey(body).keys()]];
    const fresh = rows.filter((key) => !known.has(key)).length;
    if (fresh > 0 && fresh === rows.length) return `${fresh}+`;
    count += fresh;
  }
  return count === 0 ? "" : String(count);
}

function announce(part, other, page) {
  const count = countNew(part, other);
  let note = part.querySelector(".waiting");
  if (count === "") return note?.remove();
  if (!note) {
    note = document.createElement("div");
    note.className = "waiting";
    note.append(document.createElement("button"));
    note.firstChild.type = "button";
    part.prepend(note);
  }
  const text = `${count} new, show`;
  if (note.firstChild.textContent !== text) note.firstChild.textContent = text;
  note.firstChild.onclick = () => {
    showWaiting(page);
    const { top } = part.getBoundingClientRect();
    if (top < 0) scrollBy({ top: top - 16, behavior: "instant" });
    part.querySelector("tbody a")?.focus({ preventScroll: true });
  };
}

function showWaiting(page) {
  for (const part of lists) {
    part.querySelector(".waiting")?.remove();
    const other = page.getElementById(part.id);
    if (other) merge(part, other);
  }
  showTimes();
}

async function refresh() {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  const isPending = document.querySelector("[data-pending]") !== null;
  // The transaction was dropped or replaced.
  if (isPending && response.status === 404) return location.reload();
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  // The transaction is in a block: its page has other parts.
  if (isPending && !page.querySelector("[data-pending]")) return location.reload();
  for (const part of live) {
    const other = page.getElementById(part.id);
    if (other && part.dataset.live === "now" && !isUsed(part)) merge(part, other);
  }
  // The page has ages, and the reader may have chosen exact times.
  showTimes();
  if (!isReading()) {
    showWaiting(page);
    return;
  }
  for (const part of lists) {
    const other = page.getElementById(part.id);
    if (other) announce(part, other, page);
  }
}

// The state of the index in the footer. It follows the stream, which also says that the chain was reset.
const state = document.querySelector("#state");
const RESET = "chain-was-reset";
/// A status comes at least every 15 seconds.
const SILENT = 40000;
/// A stream that is closed is opened again after a second.
const LOST = 2500;

function showState({ ok, text, chain }) {
  state.querySelector(".dot").classList.toggle("failing", !ok);
  const line = state.querySelector("#health");
  if (line.textContent !== text) line.textContent = text;
  if (!chain) return;
  const found = `${chain.id}-${chain.genesisHash}`;
  const known = state.dataset.chain;
  state.dataset.chain = found;
  if (known !== "" && known !== found) loadNewChain();
}

function loadNewChain() {
  toast("The chain was reset.");
  const isEdited = [...document.querySelectorAll("main input, main textarea")].some((field) => field.value !== field.defaultValue);
  // What the reader has typed would be lost.
  if (isEdited) return;
  try {
    sessionStorage.setItem(RESET, "");
  } catch {
    // Storage is blocked: it is not said again after the page was loaded.
  }
  setTimeout(() => location.reload(), 1000);
}

function showTip({ number, timestamp }) {
  const tip = state.querySelector("#tip");
  if (!tip) return;
  tip.querySelector("span").textContent = number.toLocaleString("en-US");
  const time = tip.querySelector("time");
  time.dateTime = timestamp.replace(/\.\d+/, "");
  time.title = time.dateTime.replace("T", " ").replace("Z", " UTC");
  showTimes();
}

try {
  if (sessionStorage.getItem(RESET) !== null) toast("The chain was reset. This page shows the new one.");
  sessionStorage.removeItem(RESET);
} catch {
  // Storage is blocked.
}

if (state && "EventSource" in window) {
  const follows = document.body.dataset.stream !== undefined;
  let due = false;
  let running = false;
  const run = async () => {
    if (running || document.hidden || !due) return;
    running = true;
    due = false;
    try {
      await refresh();
    } catch {
      // The explorer is unavailable: the stream reconnects and triggers the next refresh.
    }
    // At most one refresh per second, for chains with fast blocks.
    setTimeout(() => {
      running = false;
      run();
    }, 1000);
  };
  let stream = null;
  let heard = Date.now();
  let lost = null;
  const hear = (event, show) => {
    heard = Date.now();
    lost = null;
    show(JSON.parse(event.data));
  };
  const close = () => {
    stream?.close();
    stream = null;
  };
  // Not of a page that nobody sees: browsers open only a few connections to one server.
  const open = () => {
    if (stream || document.hidden) return;
    heard = Date.now();
    stream = new EventSource(`${BASE}/api/v1/stream`);
    stream.addEventListener("status", (event) => hear(event, showState));
    stream.addEventListener("block", (event) => {
      hear(event, showTip);
      due = follows;
      run();
    });
    stream.addEventListener("error", () => (lost ??= Date.now()));
  };
  open();
  setInterval(() => {
    // A browser gives up after an error of a proxy, and does not notice a connection that was lost silently.
    if (stream && (stream.readyState === EventSource.CLOSED || Date.now() - heard > SILENT)) {
      lost ??= Date.now();
      close();
    }
    if (lost && Date.now() - lost > LOST) showState({ ok: false, text: "No connection to the explorer" });
    open();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else open();
    run();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
}
