// Forms: keys and webhooks call the API, authorized by a wallet's signature or an API key; verifications and contract calls are
// sent to pages, and to the API only with a key. Nothing is stored in the browser.

// The path below which the explorer is served.
const BASE = document.documentElement.dataset.base;
const API = `${BASE}/api/v1`;

/// Sends JSON to the API and returns the text of the response. An error response is thrown as an Error with the API's message.
async function send(method, path, { json, key, prefer } = {}) {
  const headers = {};
  if (prefer) headers.prefer = prefer;
  if (json !== undefined) headers["content-type"] = "application/json";
  if (key) headers["x-api-key"] = key;
  const response = await fetch(API + path, { method, headers, body: json });
  const text = await response.text();
  if (!response.ok) throw new Error(reason(response, parseJson(text)));
  return text;
}

/// Why the API refused a request, in words for the user of a page.
function reason(response, { code, detail }) {
  if (code === "rate_limited") {
    const seconds = response.headers.get("retry-after") ?? "60";
    return `Too many requests. Try again in ${seconds} s, or enter an API key, which has a limit of its own.`;
  }
  if (code === "key_required") return "Enter an API key of the owner. A new one is made with the owner's wallet under Keys.";
  if (code === "invalid_key") return "This is not an API key of this explorer.";
  if (code === "revoked_key") return "This API key was revoked.";
  return detail ?? `The explorer responded with status ${response.status}.`;
}

/// Thrown if the budget of the page is spent: a key helps.
class NeedsKey extends Error {}

/// Sends the fields of a form to a page of this explorer. The budget of pages applies, not the limit of the API.
async function sendForm(path, fields) {
  const headers = { accept: "text/plain" };
  const response = await fetch(path, { method: "POST", headers, body: new URLSearchParams(fields) });
  if (response.ok) return response;
  const isText = response.headers.get("content-type")?.startsWith("text/plain");
  const seconds = response.headers.get("retry-after") ?? "60";
  const text = isText ? await response.text() : `Too many pages were opened from your address. Try again in ${seconds} s, or enter an API key.`;
  if (response.status === 429) throw new NeedsKey(text);
  throw new Error(isText ? text : `The explorer responded with status ${response.status}.`);
}

/// Shows a field for an API key in front of the button of a form.
function offerKey(form) {
  if (form.elements.key) return;
  const id = `key-of-${form.id || form.dataset.number}`;
  const field = element("input", { id, name: "key", type: "password", autocomplete: "off", placeholder: "expl_…", class: "mono" });
  form.querySelector("[type=submit]").before(element("label", { for: id }, "API key"), field);
}

/// The key that the user entered because the budget of the page was spent.
const keyOf = (form) => form.elements.key?.value.trim() ?? "";

/// Asks before something is deleted.
const confirmed = (question) => window.confirm(question);

/// The same with values instead of text.
async function request(method, path, { body, key, prefer } = {}) {
  return parseJson(await send(method, path, { json: body === undefined ? undefined : JSON.stringify(body), key, prefer }));
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

/// Shows a status message.
function showNote(note, text, kind = "") {
  note.className = `note ${kind}`;
  note.textContent = text;
}

/// Shows a secret with a copy button.
function reveal(note, name, secret) {
  note.className = "note good secret";
  note.replaceChildren(
    element("strong", {}, name),
    element("code", {}, secret),
    element("button", { type: "button", class: "copy", "data-copy": secret, "aria-label": `Copy ${name}` }),
    element("span", { class: "muted" }, "It is shown only once: store it safely."),
  );
}

/// Runs the action of a form, and shows its progress and errors.
function onSubmit(form, action) {
  const note = form.querySelector(".note");
  const button = form.querySelector("[type=submit]");
  // Disabled until here: without this script the form would be sent to a page that cannot use it.
  button.disabled = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    showNote(note, "Working …");
    try {
      await action(new FormData(form), note);
    } catch (error) {
      showNote(note, error.message, "bad");
      if (error instanceof NeedsKey) offerKey(form);
    } finally {
      button.disabled = false;
    }
  });
}

function table(head, rows) {
  return element("div", { class: "scroll" }, element("table", { class: "cards" },
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, index) => element("td", { "data-label": head[index] }, cell)))))));
}

function button(text, action) {
  return element("button", { type: "button", class: "small", onclick: action }, text);
}

function time(text) {
  return text ? element("time", { datetime: text, title: text }, text.replace("T", " ").slice(0, 19)) : "never";
}

// Keys

function keys() {
  const form = document.querySelector("#make-key");
  if (!form) return;
  const list = document.querySelector("#list-keys");
  onSubmit(form, async (data, note) => {
    const account = await connect();
    const timestamp = Date.now();
    const signature = await sign(account, `Explorer API Key Request\nAddress: ${account}\nTimestamp: ${timestamp}`);
    const created = await request("POST", "/keys", { body: { ownerAddress: account, label: data.get("label"), signature, timestamp } });
    reveal(note, "API key", created.key);
    list.elements.owner.value = account;
    list.elements.key.value = created.key;
    list.requestSubmit();
  });
  onSubmit(list, async (data, note) => {
    const [owner, key] = [data.get("owner").trim(), data.get("key").trim()];
    const found = await request("GET", `/keys?owner=${encodeURIComponent(owner)}`, { key });
    const output = document.querySelector("#keys");
    // The revoked key may be the one used for the list, so the list is not fetched again.
    const revoke = ({ id, keyPrefix, label }) => async ({ target }) => {
      if (!confirmed(`Revoke the key ${keyPrefix}… ${label}? Programs that use it stop working.`)) return;
      try {
        await request("DELETE", `/keys/${id}`, { key });
        target.replaceWith("revoked");
      } catch (error) {
        showNote(note, error.message, "bad");
      }
    };
    output.replaceChildren(table(
      ["Key", "Label", "Requests per minute", "Total requests", "Last used", ""],
      found.keys.map((item) => [
        element("code", {}, `${item.keyPrefix}…`), item.label, item.requestsPerMinute ? String(item.requestsPerMinute) : "no limit",
        String(item.totalRequests),
        time(item.lastUsedAt), item.active ? button("Revoke", revoke(item)) : "revoked",
      ]),
    ));
    showNote(note, found.keys.length === 0 ? "This owner has no keys." : "");
  });
}

// Webhooks

function webhooks() {
  const list = document.querySelector("#list-webhooks");
  const form = document.querySelector("#make-webhook");
  if (!list || !form) return;
  const output = document.querySelector("#webhooks");
  const listNote = list.querySelector(".note");
  const key = () => list.elements.key.value.trim();
  const owner = () => list.elements.owner.value.trim();
  const attempt = (action) => async () => {
    try {
      await action();
    } catch (error) {
      showNote(listNote, error.message, "bad");
    }
  };

  const resultOf = (attempt) => {
    if (!attempt) return "";
    return attempt.statusCode ? `${attempt.statusCode} in ${attempt.milliseconds} ms` : attempt.error;
  };

  async function showDeliveries(id, into) {
    const found = await request("GET", `/webhooks/${id}/deliveries`, { key: key() });
    into.replaceChildren(found.deliveries.length === 0 ? element("p", { class: "empty" }, "No deliveries yet.") : table(
      ["Event", "Status", "Attempts", "Response", "Time", ""],
      found.deliveries.map((item) => [
        item.event, item.status, String(item.attemptCount), resultOf(item.attempts[0]), time(item.attempts[0]?.at ?? item.createdAt),
        button("Send again", attempt(async () => {
          await request("POST", `/webhooks/${id}/deliveries/${encodeURIComponent(item.id)}/redeliver`, { key: key() });
          await showDeliveries(id, into);
        })),
      ]),
    ));
  }

  async function refresh() {
    const found = await request("GET", `/webhooks?owner=${encodeURIComponent(owner())}`, { key: key() });
    output.replaceChildren(...found.webhooks.map((hook) => {
      const deliveries = element("div", { class: "deliveries" });
      return element("article", { class: "panel webhook", "aria-label": `Webhook ${hook.id}` },
        element("header", {}, element("h3", {}, hook.url), element("span", { class: hook.active ? "good" : "failed" }, hook.active ? "active" : "inactive")),
        element("p", {}, `Watches ${hook.watchAddress} for ${hook.eventTypes.join(", ")}. `,
          hook.failCount > 0 ? `${hook.failCount} failed attempts in a row.` : "", " Last sent: ", time(hook.lastTriggeredAt)),
        element("p", { class: "actions" },
          button("Deliveries", attempt(() => showDeliveries(hook.id, deliveries))),
          button("Ping", attempt(async () => {
            await request("POST", `/webhooks/${hook.id}/ping`, { key: key() });
            showNote(listNote, "The ping is queued: see the deliveries.", "good");
          })),
          button(hook.active ? "Pause" : "Activate", attempt(async () => {
            await request("PATCH", `/webhooks/${hook.id}`, { key: key(), body: { active: !hook.active } });
            await refresh();
          })),
          button("Delete", attempt(async () => {
            if (!confirmed(`Delete the webhook to ${hook.url}, with its deliveries?`)) return;
            await request("DELETE", `/webhooks/${hook.id}`, { key: key() });
            await refresh();
          }))),
        deliveries);
    }));
    showNote(listNote, found.webhooks.length === 0 ? "This owner has no webhooks." : "");
  }

  onSubmit(list, refresh);
  onSubmit(form, async (data, note) => {
    const body = { ownerAddress: owner() || data.get("watch").trim(), url: data.get("url").trim(), eventTypes: data.getAll("event") };
    if (data.get("watch").trim()) body.watchAddress = data.get("watch").trim();
    const created = await request("POST", "/webhooks", { key: key(), body });
    reveal(note, "Webhook secret", created.secret);
    if (!owner()) list.elements.owner.value = body.ownerAddress;
    await refresh();
  });
}

// Verification

/// Starts a verification and returns the id of its job. A key makes it a request to the API.
async function startVerification(fields, key) {
  if (key) return (await request("POST", "/verify", { body: fields, key, prefer: "respond-async" })).id;
  const { url } = await sendForm(`${BASE}/verify`, fields);
  return new URL(url).pathname.split("/").pop();
}

function verification() {
  const form = document.querySelector("#verify");
  if (!form) return;
  const file = form.querySelector("#file");
  file.addEventListener("change", async () => {
    if (file.files[0]) form.elements.sourceCode.value = await file.files[0].text();
  });
  // Fetched on demand, since it may have to be downloaded. Without the list a version can still be typed.
  form.elements.compilerVersion.addEventListener("focus", async () => {
    const response = await fetch(`${BASE}/verify/compilers`);
    if (!response.ok) return;
    const options = new DOMParser().parseFromString(await response.text(), "text/html").querySelectorAll("option");
    document.querySelector("#compilers").replaceChildren(...options);
  }, { once: true });
  onSubmit(form, async (data, note) => {
    const fields = {};
    for (const name of ["address", "compilerVersion", "sourceCode", "license", "contractName"]) {
      if (data.get(name)?.trim()) fields[name] = data.get(name).trim();
    }
    const started = Date.now();
    let waitsFor = "";
    const progress = () => `Verifying … ${Math.floor((Date.now() - started) / 1000)} s${waitsFor}`;
    const timer = setInterval(() => showNote(note, progress()), 500);
    try {
      const id = await startVerification(fields, keyOf(form));
      let job = await request("GET", `/verify/jobs/${id}`);
      while (job.status === "pending") {
        waitsFor = job.waitsFor ? `, waiting for ${job.waitsFor}` : "";
        await new Promise((resolve) => setTimeout(resolve, 500));
        job = await request("GET", `/verify/jobs/${id}`);
      }
      if (job.failure) throw new Error(job.failure.detail);
      const outcome = job.answer;
      showNote(note, outcome.message, outcome.success ? "good" : "bad");
      if (outcome.success) note.append(" ", element("a", { href: `${BASE}/address/${outcome.address}?tab=contract` }, "See the contract"));
    } finally {
      clearInterval(timer);
    }
  });
}

// Calls on verified contracts

/// An argument as JSON text. Arrays and structs are sent as typed: parsing them here would round large numbers.
function argument(input) {
  const kind = input.dataset.arg;
  if (kind === "string") return JSON.stringify(input.value);
  const text = input.value.trim();
  if (!/[\])]$/.test(kind)) return JSON.stringify(text);
  try {
    JSON.parse(text);
  } catch {
    throw new Error(`${kind} must be JSON, such as [1, 2] or {"name": "value"}.`);
  }
  return text;
}

/// Formats JSON with line breaks, without parsing it: JavaScript objects would move numeric keys to the front.
function format(json) {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  let [text, depth] = ["", 0];
  const line = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, index) => {
    if (token === "[" || token === "{") {
      depth += 1;
      text += /^[\]}]$/.test(tokens[index + 1]) ? token : token + line();
    } else if (token === "]" || token === "}") {
      depth -= 1;
      text += /^[[{]$/.test(tokens[index - 1]) ? token : line() + token;
    } else if (token === ",") text += token + line();
    else text += token === ":" ? ": " : token;
  });
  return text;
}

/// Calls a function with a key, through the API, and returns the result as text.
async function callWithKey(address, { function: name, args, from, block }, key) {
  const members = [`"functionName":${JSON.stringify(name)}`, `"args":${args}`];
  if (from) members.push(`"from":${JSON.stringify(from)}`);
  // An invalid number is sent too: the API returns an error for it.
  if (block) members.push(`"blockNumber":${/^[0-9]+$/.test(block) ? Number(block) : JSON.stringify(block)}`);
  const text = await send("POST", `/contracts/${address}/call`, { json: `{${members.join(",")}}`, key });
  const { result } = JSON.parse(text);
  return typeof result === "string" ? result : format(text.replace(/^\{"result":/, "").replace(/\}$/, ""));
}

function calls() {
  const option = (id) => document.querySelector(id)?.value.trim() ?? "";
  document.querySelectorAll("form[data-call]").forEach((form, number) => {
    form.dataset.number = number;
    onSubmit(form, async (data, note) => {
      const args = `[${[...form.querySelectorAll("[data-arg]")].map(argument).join(",")}]`;
      const fields = { function: data.get("function"), args, from: option("#call-from"), block: option("#call-block") };
      const key = keyOf(form);
      const result = key ? await callWithKey(form.dataset.call, fields, key) : await (await sendForm(form.getAttribute("action"), fields)).text();
      note.className = "note good";
      note.replaceChildren(element("pre", {}, result));
    });
  });
}

keys();
webhooks();
verification();
calls();
writes();
