CREATE TABLE account (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- NULL: nobody can sign in as this account.
    password_hash TEXT,
    -- An account with a well-known password, which works in demo mode only.
    demo INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- How much has been tried lately, per account, per address and per both. What a subject is called is hashed:
-- people type passwords where names belong.
CREATE TABLE sign_in_throttle (
    subject BLOB NOT NULL PRIMARY KEY,
    -- In microseconds since 1970: the later, the more was tried. A row whose time is past means nothing any more.
    full_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_throttle_full_at ON sign_in_throttle (full_at);
