CREATE TABLE special_event (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    location TEXT NOT NULL,
    description TEXT NOT NULL,
    -- The dates as a list, so that an event is one row to read; special_event_date is the same to search by.
    dates JSONB NOT NULL,
    price NUMERIC NOT NULL
);

-- In the order in which events are listed.
CREATE TABLE special_event_date (
    date DATE NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    event_id UUID NOT NULL REFERENCES special_event (id) ON DELETE CASCADE,
    PRIMARY KEY (date, name, event_id)
);
CREATE UNIQUE INDEX special_event_date_event ON special_event_date (event_id, date);

-- A ticket keeps all that it says: the event may be changed or deleted, the ticket stays as it was sold.
CREATE TABLE ticket (
    id UUID NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL,
    event_id UUID,
    event_name TEXT,
    date DATE NOT NULL,
    opens_at TIMESTAMPTZ NOT NULL,
    email TEXT NOT NULL,
    confirmation_code TEXT COLLATE "C" NOT NULL UNIQUE,
    bought_at TIMESTAMPTZ NOT NULL
);

-- The events that the demo brought, with the dates it last gave them: those that nobody has changed since are
-- given new dates when theirs have passed. A row without an event marks that the demo has been here.
CREATE TABLE demo_event (
    event_id UUID NOT NULL PRIMARY KEY,
    dates JSONB NOT NULL
);
