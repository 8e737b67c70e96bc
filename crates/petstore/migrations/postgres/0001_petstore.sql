CREATE TABLE pet (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- As JSON, so that a pet is one row to read; pet_tag is the tags again, to search by.
    category JSONB,
    photo_urls JSONB NOT NULL,
    tags JSONB,
    status TEXT
);
CREATE INDEX pet_status ON pet (status, id);

CREATE TABLE pet_tag (
    name TEXT NOT NULL,
    pet_id BIGINT NOT NULL REFERENCES pet (id) ON DELETE CASCADE,
    PRIMARY KEY (name, pet_id)
);
CREATE INDEX pet_tag_pet ON pet_tag (pet_id);

-- How many pets have each status. The statements that change a pet change it. A status has several rows, by the last
-- bits of the pet's id, so that changes to different pets seldom wait for one another.
CREATE TABLE pet_count (
    status TEXT NOT NULL,
    shard BIGINT NOT NULL,
    pets BIGINT NOT NULL,
    PRIMARY KEY (status, shard)
) WITH (fillfactor = 20);
INSERT INTO pet_count (status, shard, pets)
SELECT status, shard, 0 FROM generate_series(0, 15) AS shard, unnest(ARRAY['available', 'pending', 'sold']) AS status;

CREATE TABLE pet_image (
    id UUID NOT NULL PRIMARY KEY,
    pet_id BIGINT NOT NULL REFERENCES pet (id) ON DELETE CASCADE,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL
);
CREATE INDEX pet_image_pet ON pet_image (pet_id);

-- An image in pieces, so that it can be sent without being in memory as a whole.
CREATE TABLE pet_image_part (
    image_id UUID NOT NULL REFERENCES pet_image (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (image_id, number)
);

-- An order outlives its pet.
CREATE TABLE store_order (
    id BIGINT NOT NULL PRIMARY KEY,
    pet_id BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    ship_date TIMESTAMPTZ,
    status TEXT NOT NULL,
    complete BOOLEAN NOT NULL
);

-- What the store knows of a user beyond the account, which has the name and the password.
CREATE TABLE store_user (
    id BIGINT NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL UNIQUE REFERENCES account (id) ON DELETE CASCADE,
    first_name TEXT,
    last_name TEXT,
    email TEXT,
    phone TEXT,
    user_status BIGINT
);

-- The next id to be given out to a pet, an order or a user that came without one.
CREATE TABLE next_id (
    kind TEXT NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL
);
INSERT INTO next_id (kind, id) VALUES ('pet', 1), ('order', 1), ('user', 1);

-- One row once the demo data has been brought, so that what somebody deleted stays deleted.
CREATE TABLE demo_brought (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1)
);
