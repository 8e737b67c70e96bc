-- The admission of a ticket. The key decides which of several is the first.
CREATE TABLE admission (
    ticket_id UUID NOT NULL PRIMARY KEY,
    id UUID NOT NULL,
    admitted_at TIMESTAMPTZ NOT NULL
);
