-- The sandboxes.
CREATE TABLE sandbox (
    name TEXT NOT NULL PRIMARY KEY,
    -- The SHA-256 hash of the control token.
    token_hash BYTEA NOT NULL,
    -- The class that it belongs to, if any.
    class TEXT,
    -- The address of the client that created it, for the limit per address. NULL if the operator did.
    creator TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    -- When it was last used, to a minute or so.
    used_at TIMESTAMPTZ NOT NULL,
    -- creating, ready or deleting.
    status TEXT NOT NULL,
    -- Which change of the registry was the last of this row.
    version BIGINT NOT NULL,
    -- The clock, the controls and the fault rules, as JSON.
    clock TEXT NOT NULL,
    controls TEXT NOT NULL,
    faults TEXT NOT NULL
);
CREATE INDEX sandbox_version ON sandbox (version);
CREATE INDEX sandbox_used_at ON sandbox (used_at);
CREATE INDEX sandbox_creator ON sandbox (creator) WHERE creator IS NOT NULL;
CREATE INDEX sandbox_class ON sandbox (class, name) WHERE class IS NOT NULL;

-- Counts the changes: each one locks this row, so that they are seen in the order of their numbers.
CREATE TABLE registry (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL,
    -- Of which program the template is.
    template TEXT NOT NULL
);
INSERT INTO registry (id, version, template) VALUES (1, 0, '');
