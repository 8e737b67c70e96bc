-- Whose payment it is, for as long as the owner has an account: a user may have so many failed ones an hour.
ALTER TABLE payment ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE payment SET owner = (SELECT owner FROM booking WHERE booking.id = payment.booking_id);
CREATE INDEX payment_owner ON payment (owner, failed_at) WHERE status IN ('processing', 'pending', 'failed');
