// Enhancements of pages that also work without scripts: copy buttons, colour scheme, search suggestions, live lists.

document.documentElement.classList.add("scripted");

// Copying
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
});

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

// Updates ages while a page is open. The same rules as in view/time.rs.
function ago(seconds) {
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  const days = Math.floor(seconds / 86400);
  return days === 1 ? "1 day ago" : `${days} days ago`;
}
setInterval(() => {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
    const text = ago(seconds);
    if (time.textContent !== text) time.textContent = text;
  }
}, 1000);

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
    option.dataset.href = match.href;
    for (const [element, text] of [["span", match.kind], ["bdi", match.title], ["span", match.detail]]) {
      const part = document.createElement(element);
      if (element === "span") part.className = "muted";
      part.textContent = text;
      option.append(part);
    }
    option.addEventListener("mousedown", (event) => {
      event.preventDefault();
      location.href = match.href;
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
        const response = await fetch(`/search/suggest?q=${encodeURIComponent(query)}`, { signal: request.signal });
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
    const { status, waitsFor } = await (await fetch(`/api/v1/verify/jobs/${job.dataset.job}`)).json();
    const now = `${status} ${waitsFor}`;
    if (before !== undefined && before !== now || status !== "pending") location.reload();
    before = now;
  }, 1000);
}

// Live lists: on a new block, the page is fetched again and its live parts are replaced. Not on later pages, and not while
// the user has selected text or focused an element in the part.
const live = document.querySelectorAll("[data-live]");
const page = Number(new URLSearchParams(location.search).get("page") ?? 1);

function isBusy(part) {
  const selection = getSelection();
  return part.contains(document.activeElement) || (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
}

function markFresh(before, after) {
  const known = new Set([...before.querySelectorAll("tbody tr")].map((row) => row.querySelector("a")?.href));
  for (const row of after.querySelectorAll("tbody tr")) {
    if (!known.has(row.querySelector("a")?.href)) row.classList.add("fresh");
  }
}

async function refresh() {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (!other || isBusy(part) || other.innerHTML === part.innerHTML) continue;
    markFresh(part, other);
    part.replaceChildren(...other.childNodes);
  }
  document.dispatchEvent(new CustomEvent("explorer:refreshed"));
}

if (live.length > 0 && page === 1 && "EventSource" in window) {
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
  const stream = new EventSource("/api/v1/stream");
  stream.addEventListener("block", () => {
    due = true;
    run();
  });
  document.addEventListener("visibilitychange", run);
  addEventListener("pagehide", () => stream.close());
}
