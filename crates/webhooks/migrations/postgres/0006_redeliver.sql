-- Whether a delivery that is being sent must be sent again after this attempt. Before, it had -1 attempts.
ALTER TABLE webhook_delivery ADD COLUMN redeliver BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE webhook_delivery SET redeliver = TRUE, attempts = 0 WHERE attempts < 0;
