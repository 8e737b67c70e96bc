-- Finds the tickets that an account bought, to export or to erase them.
CREATE INDEX ticket_account ON ticket (account_id, id);
