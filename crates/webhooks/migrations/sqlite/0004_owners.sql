-- Whose event it is, so that it goes with its owner. For what is there already, as far as its deliveries tell.
ALTER TABLE webhook_event ADD COLUMN owner TEXT;
UPDATE webhook_event SET owner = (
    SELECT webhook_subscription.owner FROM webhook_delivery
    JOIN webhook_subscription ON webhook_subscription.id = webhook_delivery.subscription_id
    WHERE webhook_delivery.event_id = webhook_event.id LIMIT 1);
CREATE INDEX webhook_event_owner ON webhook_event (owner);

-- Whether the owner was removed: no subscription is made with a token that is still accepted.
ALTER TABLE webhook_owner ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
