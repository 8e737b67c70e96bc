CREATE TABLE pet (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    -- As JSON, so that a pet is one row to read; pet_tag is the tags again, to search by.
    category TEXT,
    photo_urls TEXT NOT NULL,
    tags TEXT,
    status TEXT
) STRICT;
CREATE INDEX pet_status ON pet (status, id);

CREATE TABLE pet_tag (
    name TEXT NOT NULL,
    pet_id INTEGER NOT NULL REFERENCES pet (id) ON DELETE CASCADE,
    PRIMARY KEY (name, pet_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pet_tag_pet ON pet_tag (pet_id);

-- How many pets have each status. The statements that change a pet change it. A status has several rows, by the last
-- bits of the pet's id, so that changes to different pets seldom wait for one another.
CREATE TABLE pet_count (
    status TEXT NOT NULL,
    shard INTEGER NOT NULL,
    pets INTEGER NOT NULL,
    PRIMARY KEY (status, shard)
) STRICT, WITHOUT ROWID;
INSERT INTO pet_count (status, shard, pets)
WITH RECURSIVE shard (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM shard WHERE number < 15)
SELECT status.name, shard.number, 0
FROM shard, (SELECT 'available' AS name UNION ALL SELECT 'pending' UNION ALL SELECT 'sold') AS status;

CREATE TABLE pet_image (
    id BLOB NOT NULL PRIMARY KEY,
    pet_id INTEGER NOT NULL REFERENCES pet (id) ON DELETE CASCADE,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE INDEX pet_image_pet ON pet_image (pet_id);

-- An image in pieces, so that it can be sent without being in memory as a whole.
CREATE TABLE pet_image_part (
    image_id BLOB NOT NULL REFERENCES pet_image (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (image_id, number)
) STRICT;

-- An order outlives its pet.
CREATE TABLE store_order (
    id INTEGER NOT NULL PRIMARY KEY,
    pet_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    ship_date INTEGER,
    status TEXT NOT NULL,
    complete INTEGER NOT NULL
) STRICT;

-- What the store knows of a user beyond the account, which has the name and the password.
CREATE TABLE store_user (
    id INTEGER NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL UNIQUE REFERENCES account (id) ON DELETE CASCADE,
    first_name TEXT,
    last_name TEXT,
    email TEXT,
    phone TEXT,
    user_status INTEGER
) STRICT;

-- The next id to be given out to a pet, an order or a user that came without one.
CREATE TABLE next_id (
    kind TEXT NOT NULL PRIMARY KEY,
    id INTEGER NOT NULL
) STRICT;
INSERT INTO next_id (kind, id) VALUES ('pet', 1), ('order', 1), ('user', 1);

-- One row once the demo data has been brought, so that what somebody deleted stays deleted.
CREATE TABLE demo_brought (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1)
) STRICT;
