-- The trace of the call that caused the event: `traceparent`, and after a blank `tracestate` if there is one.
ALTER TABLE webhook_event ADD COLUMN trace TEXT;
