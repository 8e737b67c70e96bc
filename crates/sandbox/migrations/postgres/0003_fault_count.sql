-- How many calls and deliveries have matched a fault rule whose decision depends on their number.
CREATE TABLE fault_count (
    sandbox TEXT NOT NULL,
    rule UUID NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (sandbox, rule)
);
