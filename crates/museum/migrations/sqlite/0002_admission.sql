-- The admission of a ticket. The key decides which of several is the first.
CREATE TABLE admission (
    ticket_id BLOB NOT NULL PRIMARY KEY,
    id BLOB NOT NULL,
    admitted_at INTEGER NOT NULL
) STRICT;
