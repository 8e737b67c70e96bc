CREATE TABLE account (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    -- NULL: nobody can sign in as this account.
    password_hash TEXT,
    -- An account with a well-known password, which works in demo mode only.
    demo BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

-- How much has been tried lately, per account, per address and per both. What a subject is called is hashed:
-- people type passwords where names belong.
CREATE TABLE sign_in_throttle (
    subject BYTEA NOT NULL PRIMARY KEY,
    -- In microseconds since 1970: the later, the more was tried. A row whose time is past means nothing any more.
    full_at BIGINT NOT NULL
);
CREATE INDEX sign_in_throttle_full_at ON sign_in_throttle (full_at);
