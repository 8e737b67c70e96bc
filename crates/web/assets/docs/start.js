// Starts the API reference with the configuration of the page, in the colours of the service.

const place = document.getElementById("reference");
const { secrets, session, ...configuration } = JSON.parse(place.dataset.configuration);

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

// Ids that were in answers, by the name of their parameter.
const ids = new Map();

/** Keeps the ids that only the answer to another call has, so that the next call can be sent as it is. */
function learn(answer) {
  for (const { path } of operations()) {
    const [, folder, id] = /([^/]+)\/\{(\w+)\}/.exec(path) ?? [];
    const found = id && new RegExp(`(?:/${folder}/|"${id}": ?")([0-9a-f-]{36})`).exec(answer);
    if (found) ids.set(id, found[1]);
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

document.addEventListener(
  "click",
  ({ target }) => {
    if (target.closest?.(".show-api-client-button")) fillParameters();
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
  if (name && response.ok && /json/.test(response.headers.get("content-type"))) {
    const text = await response.clone().text();
    if (session && new URL(response.url).pathname.endsWith(session.path)) {
      keep({ scheme: session.scheme, type: "http", token: JSON.parse(text) });
    }
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
