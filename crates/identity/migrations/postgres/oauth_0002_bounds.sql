-- What a client may do at the token endpoint, in the words of RFC 7591.
ALTER TABLE oauth_client ADD COLUMN grant_types TEXT NOT NULL DEFAULT 'authorization_code refresh_token';
UPDATE oauth_client SET grant_types = 'authorization_code refresh_token client_credentials'
WHERE secret_hash IS NOT NULL;
-- The resource that the client serves, if any. Introspection shows it the tokens for that.
ALTER TABLE oauth_client ADD COLUMN resource TEXT;

-- Whether the authorization request named the redirect address. If it did, the token request must do so too.
ALTER TABLE oauth_code ADD COLUMN redirect_named BOOLEAN NOT NULL DEFAULT true;

-- A family of refresh tokens has one row: `hash` is that of the part that all its tokens share, `current_hash` that of the
-- part that only the newest has. NULL: a token from before this column, which `hash` is of.
ALTER TABLE oauth_refresh_token ADD COLUMN current_hash BYTEA;

-- Finds the oldest sessions of an account.
DROP INDEX session_account;
CREATE INDEX session_account ON session (account_id, kind, expires_at);
