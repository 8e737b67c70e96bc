-- How many test events were sent since the first of them within an hour.
ALTER TABLE webhook_subscription ADD COLUMN tests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_subscription ADD COLUMN tests_since INTEGER;
