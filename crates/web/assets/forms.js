// Pages on which something is asked of the API on the reader's behalf: keys, webhooks, verification, calls.
// What gives the right to do so is a wallet's signature or a key, typed or made here; nothing is kept in the browser.

const API = "/api/v1";

/// Sends JSON to the API and gives the text of its answer. A refusal becomes an Error with the words of the API.
async function send(method, path, { json, key } = {}) {
  const headers = {};
  if (json !== undefined) headers["content-type"] = "application/json";
  if (key) headers["x-api-key"] = key;
  const answer = await fetch(API + path, { method, headers, body: json });
  const text = await answer.text();
  if (!answer.ok) throw new Error(parsed(text).detail ?? `The explorer answered ${answer.status}.`);
  return text;
}

/// The same with values in place of text.
async function ask(method, path, { body, key } = {}) {
  return parsed(await send(method, path, { json: body === undefined ? undefined : JSON.stringify(body), key }));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/// Says how something went, where the page has room for it.
function say(place, text, kind = "") {
  place.className = `note ${kind}`;
  place.textContent = text;
}

/// Shows a secret once, to be copied.
function reveal(place, name, secret) {
  place.className = "note good secret";
  place.replaceChildren(
    element("strong", {}, name),
    element("code", {}, secret),
    element("button", { type: "button", class: "copy", "data-copy": secret, "aria-label": `Copy ${name}` }),
    element("span", { class: "muted" }, "It is shown this once: keep it where you keep passwords."),
  );
}

/// Runs what a form is for, and shows that it runs.
function onSubmit(form, work) {
  const note = form.querySelector(".note");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    say(note, "Working …");
    try {
      await work(new FormData(form), note);
    } catch (error) {
      say(note, error.message, "bad");
    } finally {
      button.disabled = false;
    }
  });
}

function table(head, rows) {
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))))));
}

function button(text, work) {
  return element("button", { type: "button", class: "small", onclick: work }, text);
}

function time(text) {
  return text ? element("time", { datetime: text, title: text }, text.replace("T", " ").slice(0, 19)) : "never";
}

// The wallet

async function connect() {
  if (!window.ethereum) throw new Error("No wallet is to be found in this browser. Install one, or sign as shown below.");
  const [account] = await window.ethereum.request({ method: "eth_requestAccounts" });
  if (!account) throw new Error("The wallet gave no account.");
  return account.toLowerCase();
}

async function sign(account, message) {
  const bytes = "0x" + [...new TextEncoder().encode(message)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return window.ethereum.request({ method: "personal_sign", params: [bytes, account] });
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
    const made = await ask("POST", "/keys", { body: { ownerAddress: account, label: data.get("label"), signature, timestamp } });
    reveal(note, "API key", made.key);
    list.elements.owner.value = account;
    list.elements.key.value = made.key;
    list.requestSubmit();
  });
  onSubmit(list, async (data, note) => {
    const [owner, key] = [data.get("owner").trim(), data.get("key").trim()];
    const found = await ask("GET", `/keys?owner=${encodeURIComponent(owner)}`, { key });
    const place = document.querySelector("#keys");
    // The key that is revoked may be the one that was used to list them: the list is not asked for again.
    const revoke = (id) => async ({ target }) => {
      try {
        await ask("DELETE", `/keys/${id}`, { key });
        target.replaceWith("revoked");
      } catch (error) {
        say(note, error.message, "bad");
      }
    };
    place.replaceChildren(table(
      ["Key", "Label", "Requests a minute", "Used", "Last used", ""],
      found.keys.map((item) => [
        element("code", {}, `${item.keyPrefix}…`), item.label, String(item.requestsPerMinute), String(item.totalRequests),
        time(item.lastUsedAt), item.active ? button("Revoke", revoke(item.id)) : "revoked",
      ]),
    ));
    say(note, found.keys.length === 0 ? "This owner has no keys." : "");
  });
}

// Webhooks

function webhooks() {
  const list = document.querySelector("#list-webhooks");
  const form = document.querySelector("#make-webhook");
  if (!list || !form) return;
  const place = document.querySelector("#webhooks");
  const listNote = list.querySelector(".note");
  const key = () => list.elements.key.value.trim();
  const owner = () => list.elements.owner.value.trim();
  const attempt = (work) => async () => {
    try {
      await work();
    } catch (error) {
      say(listNote, error.message, "bad");
    }
  };

  const answerOf = (attempt) => {
    if (!attempt) return "";
    return attempt.statusCode ? `${attempt.statusCode} in ${attempt.milliseconds} ms` : attempt.error;
  };

  async function showDeliveries(id, into) {
    const found = await ask("GET", `/webhooks/${id}/deliveries`, { key: key() });
    into.replaceChildren(found.deliveries.length === 0 ? element("p", { class: "empty" }, "Nothing has been sent yet.") : table(
      ["Event", "Status", "Tries", "Answer", "When", ""],
      found.deliveries.map((item) => [
        item.event, item.status, String(item.attemptCount), answerOf(item.attempts[0]), time(item.attempts[0]?.at ?? item.createdAt),
        button("Send again", attempt(async () => {
          await ask("POST", `/webhooks/${id}/deliveries/${encodeURIComponent(item.id)}/redeliver`, { key: key() });
          await showDeliveries(id, into);
        })),
      ]),
    ));
  }

  async function refresh() {
    const found = await ask("GET", `/webhooks?owner=${encodeURIComponent(owner())}`, { key: key() });
    place.replaceChildren(...found.webhooks.map((hook) => {
      const deliveries = element("div", { class: "deliveries" });
      return element("article", { class: "panel webhook", "aria-label": `Webhook ${hook.id}` },
        element("header", {}, element("h3", {}, hook.url), element("span", { class: hook.active ? "good" : "failed" }, hook.active ? "active" : "inactive")),
        element("p", {}, `Watches ${hook.watchAddress} for ${hook.eventTypes.join(", ")}. `,
          hook.failCount > 0 ? `${hook.failCount} failed tries in a row.` : "", " Last sent: ", time(hook.lastTriggeredAt)),
        element("p", { class: "actions" },
          button("Deliveries", attempt(() => showDeliveries(hook.id, deliveries))),
          button("Ping", attempt(async () => {
            await ask("POST", `/webhooks/${hook.id}/ping`, { key: key() });
            say(listNote, "A ping is on its way: see its deliveries.", "good");
          })),
          button(hook.active ? "Pause" : "Activate", attempt(async () => {
            await ask("PATCH", `/webhooks/${hook.id}`, { key: key(), body: { active: !hook.active } });
            await refresh();
          })),
          button("Delete", attempt(async () => {
            await ask("DELETE", `/webhooks/${hook.id}`, { key: key() });
            await refresh();
          }))),
        deliveries);
    }));
    say(listNote, found.webhooks.length === 0 ? "This owner has no webhooks." : "");
  }

  onSubmit(list, refresh);
  onSubmit(form, async (data, note) => {
    const body = { ownerAddress: owner() || data.get("watch").trim(), url: data.get("url").trim(), eventTypes: data.getAll("event") };
    if (data.get("watch").trim()) body.watchAddress = data.get("watch").trim();
    const made = await ask("POST", "/webhooks", { key: key(), body });
    reveal(note, "Webhook secret", made.secret);
    if (!owner()) list.elements.owner.value = body.ownerAddress;
    await refresh();
  });
}

// Verification

function verification() {
  const form = document.querySelector("#verify");
  if (!form) return;
  form.elements.file.addEventListener("change", async () => {
    const [file] = form.elements.file.files;
    if (file) form.elements.sourceCode.value = await file.text();
  });
  // Asked for when it is wanted: it counts as a request. Without it a version can still be typed.
  form.elements.compilerVersion.addEventListener("focus", async () => {
    try {
      const { compilers } = await ask("GET", "/verify/compilers");
      const label = ({ fetched }) => (fetched ? undefined : "is fetched first");
      document.querySelector("#compilers").replaceChildren(
        ...compilers.map((one) => element("option", { value: one.version, label: label(one) })));
    } catch {
      // The version is typed.
    }
  }, { once: true });
  onSubmit(form, async (data, note) => {
    const body = {};
    for (const name of ["address", "compilerVersion", "sourceCode", "license", "contractName"]) {
      if (data.get(name)?.trim()) body[name] = data.get(name).trim();
    }
    const begun = Date.now();
    const ticking = setInterval(() => say(note, `Compiling and comparing … ${Math.floor((Date.now() - begun) / 1000)} s`), 500);
    try {
      const outcome = await ask("POST", "/verify", { body });
      say(note, outcome.message, outcome.success ? "good" : "bad");
      if (outcome.success) note.append(" ", element("a", { href: `/address/${outcome.address}?tab=contract` }, "See the contract"));
    } finally {
      clearInterval(ticking);
    }
  });
}

// Calls on verified contracts

/// An argument as JSON text. Arrays and structs are sent as they were written: parsed here, long numbers would be rounded.
function argument(input) {
  const kind = input.dataset.arg;
  if (kind === "string") return JSON.stringify(input.value);
  const text = input.value.trim();
  if (!/[\])]$/.test(kind)) return JSON.stringify(text);
  try {
    JSON.parse(text);
  } catch {
    throw new Error(`${kind} is written as JSON, such as [1, 2] or {"name": "value"}.`);
  }
  return text;
}

/// JSON with line breaks. It is not parsed for that: objects of a script put members that are named by numbers first.
function laidOut(json) {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? [];
  let [text, depth] = ["", 0];
  const line = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, place) => {
    if (token === "[" || token === "{") {
      depth += 1;
      text += /^[\]}]$/.test(tokens[place + 1]) ? token : token + line();
    } else if (token === "]" || token === "}") {
      depth -= 1;
      text += /^[[{]$/.test(tokens[place - 1]) ? token : line() + token;
    } else if (token === ",") text += token + line();
    else text += token === ":" ? ": " : token;
  });
  return text;
}

function calls() {
  const option = (id) => document.querySelector(id)?.value.trim();
  for (const form of document.querySelectorAll("form[data-call]")) {
    onSubmit(form, async (data, note) => {
      const args = [...form.querySelectorAll("[data-arg]")].map(argument);
      const members = [`"functionName":${JSON.stringify(data.get("function"))}`, `"args":[${args.join(",")}]`];
      const [from, block] = [option("#call-from"), option("#call-block")];
      if (from) members.push(`"from":${JSON.stringify(from)}`);
      // What is no number is sent too, for the API to refuse it by name.
      if (block) members.push(`"blockNumber":${/^[0-9]+$/.test(block) ? Number(block) : JSON.stringify(block)}`);
      const text = await send("POST", `/contracts/${form.dataset.call}/call`, { json: `{${members.join(",")}}` });
      const { result } = JSON.parse(text);
      const shown = typeof result === "string" ? result : laidOut(text.replace(/^\{"result":/, "").replace(/\}$/, ""));
      note.className = "note good";
      note.replaceChildren(element("pre", {}, shown));
    });
  }
}

keys();
webhooks();
verification();
calls();
