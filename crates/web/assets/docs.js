// Renders the OpenAPI document as a page on which every request can be tried. All data is inserted as text, never as markup.
const METHODS = ["get", "post", "patch", "delete"];
// The path below which the explorer is served.
const BASE = document.documentElement.dataset.base;
const $ = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The subset of Markdown that descriptions use: paragraphs, and code in backquotes.
function prose(text) {
  return (text ?? "").split(/\n\n+/).map((part) => make("p", {}, ...inline(part)));
}

function inline(text) {
  const parts = (text ?? "").split(/`([^`]*)`/);
  return parts.map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

class Reference {
  constructor(document) {
    this.document = document;
  }

  // What a reference refers to, with the fields beside the reference.
  resolve(value) {
    const { $ref, ...own } = value ?? {};
    if (!$ref) return own;
    const target = $ref.split("/").slice(1).reduce((found, name) => found?.[name], this.document);
    return { ...target, ...own };
  }

  operations() {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
    );
  }

  // An example value of a schema, built from the examples of its parts.
  example(schema, depth = 0) {
    const { type, properties, items, ...rest } = this.resolve(schema);
    if (rest.example !== undefined) return rest.example;
    if (rest.examples !== undefined) return rest.examples[0];
    if (rest.enum) return rest.enum[0];
    if (rest.allOf) return Object.assign({}, ...rest.allOf.map((part) => this.example(part, depth + 1)));
    for (const choice of rest.oneOf ?? rest.anyOf ?? []) {
      const value = this.example(choice, depth + 1);
      if (value !== null) return value;
    }
    const kinds = [type].flat();
    if (depth > 6) return null;
    if (properties) return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, this.example(inner, depth + 1)]));
    if (kinds.includes("array")) return [this.example(items, depth + 1)];
    if (kinds.includes("boolean")) return true;
    if (kinds.includes("integer") || kinds.includes("number")) return 0;
    return kinds.includes("string") ? "" : null;
  }
}

function parameterField(reference, parameter, id) {
  const { example } = parameter;
  const schema = reference.resolve(parameter.schema);
  const input = make("input", { id, name: parameter.name, autocomplete: "off", spellcheck: false });
  input.dataset.in = parameter.in;
  if (parameter.in === "path") input.value = example ?? schema.example ?? "";
  input.placeholder = String(example ?? schema.default ?? schema.example ?? "");
  const label = make("label", { htmlFor: id, className: parameter.required ? "required" : "" }, make("code", {}, parameter.name));
  return make("div", { className: "field" }, label, input, make("small", {}, `${parameter.in}: `, ...inline(parameter.description ?? schema.description)));
}

// The fields of a body: a row per field, and a table per alternative.
function bodyFields(reference, schema) {
  const { oneOf, discriminator, ...body } = reference.resolve(schema);
  if (!oneOf) return [make("table", {}, ...fieldRows(reference, body, ""))];
  return oneOf.map((choice) => {
    const kind = reference.resolve(choice);
    const name = kind.properties?.[discriminator?.propertyName]?.enum?.[0] ?? "";
    return make("details", {}, make("summary", {}, make("code", {}, name), ` ${kind.description ?? ""}`), ...bodyFields(reference, choice));
  });
}

function fieldRows(reference, schema, path) {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, inner]) => {
    const field = reference.resolve(inner);
    const head = make("th", { className: required.includes(name) ? "required" : "" }, make("code", {}, path + name));
    const row = make("tr", {}, head, make("td", {}, kindOf(field)), make("td", {}, ...inline(field.description)));
    return [row, ...fieldRows(reference, field, `${path}${name}.`)];
  });
}

function kindOf({ type, enum: values, default: usual }) {
  const kinds = values ?? [type].flat();
  const kind = kinds.filter((kind) => kind && kind !== "null").join(" or ");
  return usual === undefined ? kind : `${kind}, ${usual} by default`;
}

function bodyEditor(reference, { schema, examples = {} }, name, changed) {
  const written = (value) => JSON.stringify(value, null, 2);
  const named = Object.values(examples);
  const first = named.length ? named[0].value : reference.example(schema);
  const area = make("textarea", { id: `${name}-body`, spellcheck: false, value: written(first) });
  const fields = [make("div", { className: "field" }, make("label", { htmlFor: area.id }, "Body"), area)];
  if (named.length > 1) {
    const choice = make("select", { id: `${name}-example` }, ...named.map((example, index) => make("option", { value: index }, example.summary ?? "")));
    choice.addEventListener("change", () => {
      area.value = written(named[choice.value].value);
      changed();
    });
    fields.unshift(make("div", { className: "field" }, make("label", { htmlFor: choice.id }, "Example"), choice));
  }
  return [...bodyFields(reference, schema), ...fields];
}

function requestOf(operation, form) {
  let path = operation.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const input of form.querySelectorAll("input[data-in]")) {
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (input.dataset.in === "query") query.append(input.name, input.value);
    else headers[input.name] = input.value;
  }
  const key = $("key").value.trim();
  if (key && operation.path.startsWith("/api/")) headers["X-API-Key"] = key;
  const body = form.querySelector("textarea")?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const url = BASE + path + (query.size ? `?${query}` : "");
  return { url, options: { method: operation.method.toUpperCase(), headers, body, cache: "no-store" } };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curlOf({ url, options }) {
  const parts = ["curl"];
  if (options.method !== "GET") parts.push("-X", options.method);
  for (const [name, value] of Object.entries(options.headers)) {
    parts.push("-H", quoted(`${name}: ${name === "X-API-Key" ? "$EXPLORER_KEY" : value}`).replace("'X-API-Key: $EXPLORER_KEY'", '"X-API-Key: $EXPLORER_KEY"'));
  }
  if (options.body !== undefined) parts.push("-d", quoted(options.body));
  return [...parts, quoted(location.origin + url)].join(" ");
}

async function send(request, output) {
  const started = performance.now();
  try {
    const response = await fetch(request.url, request.options);
    const text = await response.text();
    const took = `${Math.round(performance.now() - started)} ms`;
    const left = response.headers.get("X-RateLimit-Remaining");
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Not JSON: shown as it is.
    }
    const status = make("span", { className: `status ${response.ok ? "ok" : "bad"}` }, String(response.status));
    const note = [took, left === null ? null : `${left} requests left`].filter(Boolean).join(", ");
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    output.replaceChildren(
      make("p", {}, status, make("span", { className: "muted" }, note)),
      make("pre", {}, shown || "(no body)"),
      make("details", {}, make("summary", {}, "Headers"), make("pre", {}, headers)),
    );
  } catch (error) {
    output.replaceChildren(make("p", { className: "bad" }, `No response: ${error.message}`));
  }
}

function tryOut(reference, operation, name) {
  const parameters = (operation.parameters ?? []).map((parameter) => reference.resolve(parameter));
  const form = make("form", {}, ...parameters.map((parameter, index) => parameterField(reference, parameter, `${name}-${index}`)));
  const content = operation.requestBody?.content?.["application/json"];
  if (content) form.append(...bodyEditor(reference, content, name, () => showCurl()));
  const button = make("button", { type: "submit" }, "Send");
  const curl = make("pre", {});
  const output = make("div", {});
  output.setAttribute("aria-live", "polite");
  const showCurl = () => curl.replaceChildren(curlOf(requestOf(operation, form)));
  form.addEventListener("input", showCurl);
  $("key").addEventListener("input", showCurl);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    await send(requestOf(operation, form), output);
    button.disabled = false;
  });
  form.append(make("div", { className: "send" }, button), curl, output);
  showCurl();
  return form;
}

function responses(reference, operation) {
  return Object.entries(operation.responses).map(([status, described]) => {
    const response = reference.resolve(described);
    const [kind, content] = Object.entries(response.content ?? {})[0] ?? [];
    // The example of the schema of problems is one of another status.
    const example = kind && !kind.includes("problem") ? reference.example(content.schema) : undefined;
    const headers = Object.entries(response.headers ?? {}).map(([name, described]) => [name, reference.resolve(described)]);
    const rows = headers.map(([name, header]) =>
      make("tr", {}, make("th", {}, make("code", {}, name)), make("td", {}, header.description ?? ""), make("td", {}, make("code", {}, String(header.example ?? "")))),
    );
    const number = make("span", { className: `status ${status < "400" ? "ok" : "bad"}` }, status);
    return make(
      "details",
      {},
      make("summary", {}, number, ...inline(response.description)),
      kind ? make("p", { className: "muted" }, kind) : null,
      example === undefined ? null : make("pre", {}, JSON.stringify(example, null, 2)),
      rows.length ? make("table", {}, ...rows) : null,
    );
  });
}

function article(reference, operation) {
  const name = operation.operationId;
  const head = make(
    "h3",
    {},
    make("span", { className: `verb ${operation.method}` }, operation.method),
    make("span", { className: "path" }, operation.path),
    make("span", { className: "summary" }, operation.summary ?? ""),
  );
  const needsKey = operation.security?.length && operation.security.every((requirement) => Object.keys(requirement).length);
  const body = make(
    "div",
    { className: "body" },
    ...prose(operation.description),
    needsKey ? make("p", {}, "Requires an API key of the owner.") : null,
    make("h4", {}, "Request"),
    tryOut(reference, operation, name),
    make("h4", {}, "Responses"),
    ...responses(reference, operation),
  );
  return make("article", { id: name }, head, body);
}

function show(description) {
  const reference = new Reference(description);
  $("version").textContent = description.info.version;
  const content = prose(description.info.description);
  const menu = [];
  for (const tag of description.tags) {
    const operations = reference.operations().filter((operation) => operation.tags?.includes(tag.name));
    if (operations.length === 0) continue;
    content.push(make("h2", {}, tag.description ?? tag.name), ...operations.map((operation) => article(reference, operation)));
    menu.push(make("h2", {}, tag.name));
    for (const { method, path, operationId } of operations) {
      menu.push(make("a", { href: `#${operationId}` }, make("span", { className: `verb ${method}` }, method), path.replace("/api/v1", "")));
    }
  }
  $("content").replaceChildren(...content);
  $("menu").replaceChildren(...menu);
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function filter(text) {
  const wanted = text.trim().toLowerCase();
  for (const link of $("menu").querySelectorAll("a")) link.hidden = !link.textContent.toLowerCase().includes(wanted);
  for (const entry of document.querySelectorAll("article")) {
    entry.hidden = !entry.querySelector("h3").textContent.toLowerCase().includes(wanted);
  }
}

async function start() {
  $("key").value = sessionStorage.getItem("key") ?? "";
  $("key").addEventListener("input", () => sessionStorage.setItem("key", $("key").value));
  $("filter").addEventListener("input", () => filter($("filter").value));
  try {
    const response = await fetch(`${BASE}/api/v1/openapi.json`);
    show(await response.json());
  } catch (error) {
    $("loading").textContent = `Cannot load the OpenAPI document: ${error.message}`;
  }
}

start();
