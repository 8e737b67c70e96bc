CREATE TABLE webhook_subscription (
    id BLOB NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    -- What signs: kept as it is, since it is needed for every delivery.
    secret BLOB NOT NULL,
    -- The secret before it, which signs too until then.
    old_secret BLOB,
    old_secret_until INTEGER,
    -- Since when nothing has arrived, if the last delivery failed.
    failing_since INTEGER,
    -- Why nothing is sent any more, if so.
    disabled TEXT
) STRICT;
CREATE INDEX webhook_subscription_owner ON webhook_subscription (owner, id);

-- The outbox: written in the transaction of what it tells about.
CREATE TABLE webhook_event (
    id BLOB NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhook_event_created_at ON webhook_event (created_at);

-- An event on its way to a subscriber.
CREATE TABLE webhook_delivery (
    -- No reference: an event is written also while one of its subscriptions goes. Whoever is to send it then removes it.
    subscription_id BLOB NOT NULL,
    event_id BLOB NOT NULL REFERENCES webhook_event (id) ON DELETE CASCADE,
    -- pending, delivered or failed.
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    -- When it is to be sent, if it is. Whoever sends it moves this on, so that nobody else does meanwhile.
    due_at INTEGER,
    PRIMARY KEY (subscription_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_delivery_due ON webhook_delivery (subscription_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_next ON webhook_delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id);

-- What became of each attempt, the last ones of each subscription.
CREATE TABLE webhook_attempt (
    id BLOB NOT NULL PRIMARY KEY,
    subscription_id BLOB NOT NULL REFERENCES webhook_subscription (id) ON DELETE CASCADE,
    event_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    -- The answer's, if there was one.
    status INTEGER,
    error TEXT
) STRICT;
CREATE INDEX webhook_attempt_subscription ON webhook_attempt (subscription_id, id);
