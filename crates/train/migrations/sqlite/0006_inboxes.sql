-- An address of this service that receives webhooks and shows them to its owner, for a limited time.
CREATE TABLE inbox (
    id BLOB NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    -- How many messages it has received, also those that are deleted.
    received INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_owner ON inbox (owner, id);
CREATE INDEX inbox_expires_at ON inbox (expires_at);

CREATE TABLE inbox_message (
    inbox_id BLOB NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    -- The messages of an inbox are numbered from 1.
    number INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    -- Names and values. Without tokens.
    headers TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (inbox_id, number)
) STRICT;
