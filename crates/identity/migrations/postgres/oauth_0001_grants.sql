-- What signs access tokens. A new one is made before the old one ends, and known to all before it is used.
CREATE TABLE signing_key (
    -- Counts up. Of two processes that make the next key at once, one is first, and both use that.
    number BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    private_key BYTEA NOT NULL,
    -- When it starts to sign.
    signs_from TIMESTAMPTZ NOT NULL
);

-- Programs that ask for access on behalf of people, or of themselves.
CREATE TABLE oauth_client (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- NULL: a public client, which can keep no secret.
    secret_hash BYTEA,
    redirect_uris JSONB NOT NULL,
    scopes TEXT NOT NULL,
    -- Well known, so it works in demo mode only.
    demo BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

-- What somebody allowed a client once. All codes and tokens that follow from it end with it.
CREATE TABLE oauth_grant (
    id UUID NOT NULL PRIMARY KEY,
    client_id TEXT NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    -- NULL: the client acts for itself.
    account_id UUID REFERENCES account (id) ON DELETE CASCADE,
    scopes TEXT NOT NULL,
    audience TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    -- When nothing that follows from it can be valid any more.
    ends_at TIMESTAMPTZ NOT NULL,
    revoked_at TIMESTAMPTZ
);
CREATE INDEX oauth_grant_ends_at ON oauth_grant (ends_at);
CREATE INDEX oauth_grant_account ON oauth_grant (account_id);
CREATE INDEX oauth_grant_client ON oauth_grant (client_id);

CREATE TABLE oauth_code (
    hash BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at TIMESTAMPTZ
);
CREATE INDEX oauth_code_grant ON oauth_code (grant_id);

CREATE TABLE oauth_refresh_token (
    hash BYTEA NOT NULL PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at TIMESTAMPTZ
);
CREATE INDEX oauth_refresh_token_grant ON oauth_refresh_token (grant_id);

-- Access tokens that were revoked one by one, until they would have ended by themselves.
CREATE TABLE oauth_revoked_token (
    id TEXT NOT NULL PRIMARY KEY,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX oauth_revoked_token_expires_at ON oauth_revoked_token (expires_at);

-- Sessions of browsers and of API clients that logged in. Only the hash of what the client holds is kept.
CREATE TABLE session (
    hash BYTEA NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    account_id UUID NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX session_expires_at ON session (expires_at);
CREATE INDEX session_account ON session (account_id);

CREATE TABLE api_key (
    hash BYTEA NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Well known, so it works in demo mode only.
    demo BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

-- Where the service was last started, for commands that make tokens without serving.
CREATE TABLE oauth_address (
    -- One row.
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL
);
