CREATE TABLE special_event (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    location TEXT NOT NULL,
    description TEXT NOT NULL,
    -- The dates as a list, so that an event is one row to read; special_event_date is the same to search by.
    dates TEXT NOT NULL,
    price TEXT NOT NULL
) STRICT;

-- In the order in which events are listed.
CREATE TABLE special_event_date (
    date TEXT NOT NULL,
    name TEXT NOT NULL,
    event_id BLOB NOT NULL REFERENCES special_event (id) ON DELETE CASCADE,
    PRIMARY KEY (date, name, event_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX special_event_date_event ON special_event_date (event_id, date);

-- A ticket keeps all that it says: the event may be changed or deleted, the ticket stays as it was sold.
CREATE TABLE ticket (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL,
    event_id BLOB,
    event_name TEXT,
    date TEXT NOT NULL,
    opens_at INTEGER NOT NULL,
    email TEXT NOT NULL,
    confirmation_code TEXT NOT NULL UNIQUE,
    bought_at INTEGER NOT NULL
) STRICT;

-- The events that the demo brought, with the dates it last gave them: those that nobody has changed since are
-- given new dates when theirs have passed. A row without an event marks that the demo has been here.
CREATE TABLE demo_event (
    event_id BLOB NOT NULL PRIMARY KEY,
    dates TEXT NOT NULL
) STRICT;
