// Starts the API reference with the configuration of the page, in the colours of the service.

const place = document.getElementById("reference");
const configuration = JSON.parse(place.dataset.configuration);

Scalar.createApiReference(place, {
  ...configuration,
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
