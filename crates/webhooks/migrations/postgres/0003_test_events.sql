-- How many test events were sent since the first of them within an hour.
ALTER TABLE webhook_subscription ADD COLUMN tests BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook_subscription ADD COLUMN tests_since TIMESTAMPTZ;
