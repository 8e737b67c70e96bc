// Starts the API reference with the configuration of the page, in the colours of the service.

const place = document.getElementById("reference");
const { secrets, session, chains, ...configuration } = JSON.parse(place.dataset.configuration);

// The name of the document in the store of the reference, as soon as it is loaded.
let name;
const store = () => window.dataDumpWorkspace();

/** Each operation of the document. */
function* operations() {
  for (const [path, item] of Object.entries(store().workspace.documents[name].paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (operation.responses) yield { path, method, operation };
    }
  }
}

/** Sends an operation that does not accept the credentials of the whole page with the first ones that it accepts. */
function selectCredentials({ path, method, operation: { security = [] } }) {
  const { preferredSecurityScheme } = configuration.authentication;
  if (security.length === 0 || security.some((accepted) => preferredSecurityScheme in accepted)) return;
  const selectedSchemes = JSON.parse(JSON.stringify(security.slice(0, 1))).filter((accepted) => Object.keys(accepted).length > 0);
  store().auth.setAuthSelectedSchemas(
    { type: "operation", documentName: name, path, method },
    { selectedIndex: selectedSchemes.length - 1, selectedSchemes },
  );
}

/** The value of a parameter that is sent with each example of the body. */
function fill(parameter, { requestBody }, value) {
  const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ examples = {} }) => Object.keys(examples));
  parameter.examples = Object.fromEntries(["default", ...bodies].map((key) => [key, { value, "x-disabled": false }]));
}

// Ids that were in answers, by the name of their parameter, and the operations that were sent with each id.
const ids = new Map();
const sent = new Map();

/** The path parameters of an operation without an example: only the answer to another call has their values. */
const unknown = ({ operation: { parameters = [] } }) =>
  parameters.filter((parameter) => parameter.in === "path" && parameter.example === undefined).map(({ name }) => name);

const find = (id) => [...operations()].find(({ operation }) => operation.operationId === id);

/** The server of the API, as an address. */
const server = () => new URL(store().workspace.documents[name].servers[0].url, location.href).href.replace(/\/$/, "");

/** Keeps the ids that an answer has, so that the next call can be sent as it is. */
function learn(answer) {
  for (const { path } of operations()) {
    const [, folder, id] = /([^/]+)\/\{(\w+)\}/.exec(path) ?? [];
    const found = id && new RegExp(`(?:/${folder}/|"${id}": ?")([0-9a-f-]{36})`).exec(answer);
    if (found) ids.set(id, found[1]);
  }
}

/** Notes which operation was sent with an id. A deleted id is forgotten. */
function note(method, url) {
  for (const sendable of operations()) {
    for (const parameter of unknown(sendable)) {
      const path = sendable.path.replace(`{${parameter}}`, ids.get(parameter));
      if (method.toLowerCase() !== sendable.method || url.split("?")[0] !== server() + path) continue;
      const id = ids.get(parameter);
      sent.set(id, (sent.get(id) ?? new Set()).add(sendable.operation.operationId));
      if (method === "DELETE") ids.delete(parameter);
    }
  }
}

/** The operations that make an operation's id: those of the configuration, or the one that adds to the collection. */
function chain({ path, operation }, parameter) {
  const collection = path.split(`/{${parameter}}`)[0];
  const adding = [...operations()].find(({ path, method }) => method === "post" && path === collection);
  return (chains[operation.operationId] ?? [adding?.operation.operationId]).map(find).filter(Boolean);
}

/** Whether an operation succeeds with the known id: the ones before it were sent, and it was not, if it can be sent only once. */
function fits(sendable, parameter) {
  const done = sent.get(ids.get(parameter)) ?? new Set();
  const before = chain(sendable, parameter).filter(({ path }) => path.includes(`{${parameter}}`));
  const once = sendable.method === "post" && sendable.operation.responses["409"];
  return (
    ids.has(parameter) &&
    before.every(({ operation }) => done.has(operation.operationId)) &&
    !(once && done.has(sendable.operation.operationId))
  );
}

// The access token, once the visitor has signed in.
let token;

/** A file for a body without an example: the picture of the service. */
const file = async () => (await send("../favicon.svg")).arrayBuffer();

/** Sends an operation with its example. */
async function sendExample({ path, method, operation: { parameters = [], requestBody } }) {
  const values = new Map(parameters.map(({ name, example }) => [name, example ?? ids.get(name)]));
  const [type, { example, examples = {} }] = Object.entries(requestBody?.content ?? {})[0] ?? ["", {}];
  const content = example ?? Object.values(examples)[0]?.value;
  const user = secrets.find(({ username }) => username);
  const authorization = token ? `Bearer ${token}` : user && `Basic ${btoa(`${user.username}:${user.password}`)}`;
  const response = await window.fetch(server() + path.replace(/\{(\w+)\}/g, (_, id) => values.get(id)), {
    method: method.toUpperCase(),
    headers: { ...(authorization && { authorization }), ...(type && { "content-type": type }) },
    body: type ? (content && JSON.stringify(content)) ?? (await file()) : undefined,
  });
  document.getElementById("prepared").append(`${method.toUpperCase()} ${path} (${response.status}) `);
}

/** Sends the operations that an operation needs, such as a booking before its payment. */
async function prepare(sendable) {
  for (const parameter of unknown(sendable)) {
    if (fits(sendable, parameter)) continue;
    document.getElementById("prepared").textContent = "Sent before: ";
    for (const needed of chain(sendable, parameter)) await sendExample(needed);
  }
}

/**
 * Fills in the ids that have no example, and the optional parameters of an operation that changes nothing without them. The
 * reference forgets what was filled in when its dialog is closed.
 */
function fillParameters() {
  for (const { method, operation } of operations()) {
    for (const parameter of operation.parameters ?? []) {
      const { name, example, required } = parameter;
      if (example === undefined && ids.has(name)) fill(parameter, operation, ids.get(name));
      const isChange = method === "post" && !operation.requestBody && !required;
      if (example !== undefined && isChange) fill(parameter, operation, example);
    }
  }
}

// Whether a click is from this script, after the ids were made.
let prepared = false;

document.addEventListener(
  "click",
  async (event) => {
    // It opens the dialog for an operation, or selects another one in the dialog.
    const button = event.target.closest?.(".show-api-client-button, [role=dialog] [data-sidebar-id] button");
    const place = button?.closest("[id*='/tag/'], [data-sidebar-id]");
    const [, method, path] = /\/([A-Z]+)(\/.*)$/.exec(place?.dataset.sidebarId ?? place?.id ?? "") ?? [];
    const opened = method && [...operations()].find((each) => each.path === path && each.method === method.toLowerCase());
    if (!opened) return;
    fillParameters();
    // Outside of a demo nothing is sent that the visitor did not ask for.
    if (prepared || !chains || unknown(opened).every((parameter) => fits(opened, parameter))) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    // Without a connection the ids cannot be made. The dialog shows what is missing.
    await prepare(opened).catch(() => {});
    prepared = true;
    button.click();
    prepared = false;
  },
  { capture: true },
);

/** Fills in credentials. */
function keep({ scheme, type, username = "", password = "", token = "" }) {
  store().auth.setAuthSecrets(name, scheme, {
    type,
    "x-scalar-secret-username": username,
    "x-scalar-secret-password": password,
    "x-scalar-secret-token": token,
  });
}

const send = window.fetch;
window.fetch = async (...call) => {
  const response = await send(...call);
  if (!name || !response.ok) return response;
  note(call[1]?.method ?? call[0].method ?? "GET", response.url);
  if (/json/.test(response.headers.get("content-type"))) {
    const text = await response.clone().text();
    if (session && new URL(response.url).pathname.endsWith(session.path)) {
      keep({ scheme: session.scheme, type: "http", token: JSON.parse(text) });
    }
    token = /"access_token": ?"([^"]+)"/.exec(text)?.[1] ?? token;
    learn(`${response.headers.get("location") ?? ""} ${text}`);
  }
  return response;
};

Scalar.createApiReference(place, {
  ...configuration,
  onLoaded(slug) {
    name = slug;
    for (const secret of secrets) keep(secret);
    for (const operation of operations()) selectCredentials(operation);
  },
  // Nothing from other hosts, and no calls to them.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  // The page follows the system, as all pages do.
  hideDarkModeToggle: true,
  // Credentials are not stored: any later page of the same origin could read the browser's storage.
  persistAuth: false,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  operationTitleSource: "summary",
  defaultOpenAllTags: true,
  customCss: `
    .scalar-app, .light-mode, .dark-mode {
      --scalar-font: var(--sans); --scalar-font-code: var(--mono); --scalar-color-accent: var(--accent);
      --scalar-color-1: var(--ink); --scalar-color-2: var(--soft); --scalar-color-3: var(--soft);
      --scalar-background-1: var(--card); --scalar-background-2: var(--paper); --scalar-background-3: var(--sunk);
      --scalar-border-color: var(--line); --scalar-button-1: var(--accent); --scalar-button-1-color: var(--on-accent);
      --scalar-button-1-hover: var(--accent-over); --scalar-custom-header-height: 3.25rem;
    }`,
});
