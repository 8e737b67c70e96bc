-- Whether the user was removed: nothing is booked or paid for with a token that is still accepted.
ALTER TABLE traveller ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

-- Whose request it was, so that its answer goes with the user. For what is there already, as far as the answer tells.
ALTER TABLE idempotency ADD COLUMN owner TEXT;
UPDATE idempotency SET owner = (
    SELECT booking.owner FROM payment JOIN booking ON booking.id = payment.booking_id
    WHERE payment.id = idempotency.payment_id)
WHERE payment_id IS NOT NULL;
UPDATE idempotency SET owner = (
    SELECT owner FROM booking WHERE id = unhex(replace(json_extract(answer, '$.done.id'), '-', '')))
WHERE owner IS NULL AND json_extract(answer, '$.done.id') IS NOT NULL;
CREATE INDEX idempotency_owner ON idempotency (owner);

-- So far an event had the id of its booking.
UPDATE webhook_event SET owner = (SELECT owner FROM booking WHERE booking.id = webhook_event.id) WHERE owner IS NULL;
