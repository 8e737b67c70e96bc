-- How many seats of a trip are taken. Trips come from the timetable; one has a row here once somebody has booked it.
CREATE TABLE trip_seats (
    trip_id UUID NOT NULL PRIMARY KEY,
    origin UUID NOT NULL,
    destination UUID NOT NULL,
    date DATE NOT NULL,
    -- The bookings of the trip that are held, run out or not, or confirmed.
    taken BIGINT NOT NULL CHECK (taken >= 0)
);
CREATE INDEX trip_seats_day ON trip_seats (origin, destination, date);

CREATE TABLE booking (
    id UUID NOT NULL PRIMARY KEY,
    -- Whom it belongs to: the subject of the access tokens.
    owner TEXT NOT NULL,
    trip_id UUID NOT NULL REFERENCES trip_seats (trip_id),
    passenger_name TEXT NOT NULL,
    has_bicycle BOOLEAN NOT NULL,
    has_dog BOOLEAN NOT NULL,
    -- held, confirmed, expired or cancelled. One that is held and whose time has run out is expired, whatever stands here.
    status TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX booking_owner ON booking (owner, id);
CREATE INDEX booking_held ON booking (trip_id, expires_at) WHERE status = 'held';
CREATE INDEX booking_due ON booking (expires_at) WHERE status = 'held';

-- An attempt to pay, written before the processor is asked.
CREATE TABLE payment (
    id UUID NOT NULL PRIMARY KEY,
    booking_id UUID NOT NULL REFERENCES booking (id),
    amount NUMERIC NOT NULL,
    currency TEXT NOT NULL,
    -- Masked: nothing here could pay for anything.
    source JSONB NOT NULL,
    -- processing: the processor is being asked; pending: it has not decided; succeeded; failed;
    -- refunding: the money is to go back; refunded.
    status TEXT NOT NULL,
    failure TEXT,
    -- When it is to be looked at again, if there is anything left to do.
    check_at TIMESTAMPTZ
);
-- One attempt at a time, and none after one that succeeded.
CREATE UNIQUE INDEX payment_under_way ON payment (booking_id) WHERE status IN ('processing', 'pending', 'succeeded');
CREATE INDEX payment_booking ON payment (booking_id);
CREATE INDEX payment_check ON payment (check_at) WHERE check_at IS NOT NULL;

-- What the sandbox processor knows: a party of its own, which shares the database and no transaction.
CREATE TABLE sandbox_charge (
    payment_id UUID NOT NULL PRIMARY KEY,
    amount NUMERIC NOT NULL,
    currency TEXT NOT NULL,
    -- succeeded, or why not; void: asked about before it was asked to charge, so it never will.
    outcome TEXT NOT NULL,
    -- When it is decided.
    settles_at TIMESTAMPTZ NOT NULL,
    refunded_at TIMESTAMPTZ
);

-- Answers to requests with an Idempotency-Key. Neither the key nor the body can be found out from what is kept.
CREATE TABLE idempotency (
    hash BYTEA NOT NULL PRIMARY KEY,
    fingerprint BYTEA NOT NULL,
    -- The payment whose outcome will be the answer, as long as there is none.
    payment_id UUID,
    answer JSONB,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX idempotency_expires_at ON idempotency (expires_at);
CREATE INDEX idempotency_payment ON idempotency (payment_id) WHERE payment_id IS NOT NULL;
