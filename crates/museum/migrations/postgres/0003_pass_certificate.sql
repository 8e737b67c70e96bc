-- The self-signed certificate of a demo, which signs passes for a wallet. There is one, with the number 1.
CREATE TABLE pass_certificate (
    number BIGINT NOT NULL PRIMARY KEY,
    certificate BYTEA NOT NULL,
    private_key BYTEA NOT NULL
);
