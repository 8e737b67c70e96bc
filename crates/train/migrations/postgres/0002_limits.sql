-- Locked while a user's unpaid holds are counted, so that of two bookings at once the second counts the first.
CREATE TABLE traveller (
    owner TEXT NOT NULL PRIMARY KEY
);
CREATE INDEX booking_unpaid ON booking (owner, expires_at) WHERE status = 'held';

-- When a payment failed: a booking may have so many of these an hour.
ALTER TABLE payment ADD COLUMN failed_at TIMESTAMPTZ;
