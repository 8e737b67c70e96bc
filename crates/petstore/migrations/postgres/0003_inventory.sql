-- Triggers counted the pets before. Distributed PostgreSQL has none.
DROP FUNCTION IF EXISTS count_pets() CASCADE;
DROP FUNCTION IF EXISTS count_pet(TEXT, BIGINT, BIGINT);
