-- The templates, one for each version of the program; registry.template is not used any more.
CREATE TABLE template (
    name TEXT NOT NULL PRIMARY KEY,
    -- When a process of this version last said that it uses it.
    used_at INTEGER NOT NULL,
    -- Whether it is complete. One that was found and is not known is not.
    ready INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
