-- The self-signed certificate of a demo, which signs passes for a wallet. There is one, with the number 1.
CREATE TABLE pass_certificate (
    number INTEGER NOT NULL PRIMARY KEY,
    certificate BLOB NOT NULL,
    private_key BLOB NOT NULL
) STRICT;
