-- When the session started. NULL: before this column.
ALTER TABLE session ADD COLUMN started_at TIMESTAMPTZ;
