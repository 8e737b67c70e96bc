-- Whether a delivery that is being sent must be sent again after this attempt. Before, it had -1 attempts.
ALTER TABLE webhook_delivery ADD COLUMN redeliver INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_delivery SET redeliver = 1, attempts = 0 WHERE attempts < 0;
