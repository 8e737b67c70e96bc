-- Triggers counted the pets before. Distributed PostgreSQL has none.
DROP TRIGGER IF EXISTS pet_inserted;
DROP TRIGGER IF EXISTS pet_deleted;
DROP TRIGGER IF EXISTS pet_status_changed;
