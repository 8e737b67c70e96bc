-- The time at which a delivery is due is one of the service's clock, which can be moved, and the end of a lease is one of the machine's
-- clock: each has an index of its own.
DROP INDEX webhook_delivery_due;
CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE status = 'waiting';
CREATE INDEX webhook_delivery_leased ON webhook_delivery (due_at) WHERE status = 'sending';
