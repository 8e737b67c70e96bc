-- How many calls of this hour a caller has been given.
CREATE TABLE call_quota (
    caller TEXT NOT NULL PRIMARY KEY,
    -- Hours since 1970.
    hour BIGINT NOT NULL,
    used BIGINT NOT NULL
);
CREATE INDEX call_quota_hour ON call_quota (hour);
