-- How many test events and redeliveries an owner requested since the first of them within an hour. What counts for a
-- subscription is deleted with it; this is not.
ALTER TABLE webhook_owner ADD COLUMN tests BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhook_owner ADD COLUMN tests_since TIMESTAMPTZ;
