-- Until when a process has the lease of a payment, by the clock of the machine; check_at is NULL then. check_at is a time of the
-- service's clock, which can be moved.
ALTER TABLE payment ADD COLUMN leased_until INTEGER;
CREATE INDEX payment_leased ON payment (leased_until) WHERE leased_until IS NOT NULL;
