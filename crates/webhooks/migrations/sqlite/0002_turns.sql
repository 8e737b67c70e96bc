-- How many subscriptions somebody has: one row to decide by.
CREATE TABLE webhook_owner (
    owner TEXT NOT NULL PRIMARY KEY,
    subscriptions INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO webhook_owner (owner, subscriptions) SELECT owner, count(*) FROM webhook_subscription GROUP BY owner;

-- Whether the last attempt failed or took long: such subscriptions get fewer places.
ALTER TABLE webhook_subscription ADD COLUMN slow INTEGER NOT NULL DEFAULT 0;

-- The secrets before the present one, each of which signs too until then.
CREATE TABLE webhook_old_secret (
    subscription_id BLOB NOT NULL REFERENCES webhook_subscription (id) ON DELETE CASCADE,
    secret BLOB NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (subscription_id, secret)
) STRICT, WITHOUT ROWID;
INSERT INTO webhook_old_secret (subscription_id, secret, until)
    SELECT id, old_secret, old_secret_until FROM webhook_subscription WHERE old_secret IS NOT NULL;
-- When the last of them ends is still there.
ALTER TABLE webhook_subscription DROP COLUMN old_secret;

-- A delivery is ready to be sent, sending (until due_at it is somebody's), waiting (until due_at), delivered or failed.
DROP INDEX webhook_delivery_due;
DROP INDEX webhook_delivery_next;
UPDATE webhook_delivery SET status = 'waiting' WHERE status = 'pending';
CREATE INDEX webhook_delivery_ready ON webhook_delivery (subscription_id, due_at) WHERE status = 'ready';
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE status IN ('sending', 'waiting');
-- The status is in it so that nothing but this index is needed for what did not arrive.
CREATE INDEX webhook_delivery_late ON webhook_delivery (subscription_id, event_id, status)
    WHERE status IN ('waiting', 'failed');
