-- An address of this service that receives webhooks and shows them to its owner, for a limited time.
CREATE TABLE inbox (
    id UUID NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    -- How many messages it has received, also those that are deleted.
    received BIGINT NOT NULL
);
CREATE INDEX inbox_owner ON inbox (owner, id);
CREATE INDEX inbox_expires_at ON inbox (expires_at);

CREATE TABLE inbox_message (
    inbox_id UUID NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    -- The messages of an inbox are numbered from 1.
    number BIGINT NOT NULL,
    received_at TIMESTAMPTZ NOT NULL,
    -- Names and values. Without tokens.
    headers JSONB NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (inbox_id, number)
);
