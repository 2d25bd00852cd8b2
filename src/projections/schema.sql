-- The read models. Disposable: a change here moves SCHEMA_VERSION, and the log fills them anew.
-- Indexes that only reads use are in indexes.sql.
CREATE TABLE meta (
    schema   INTEGER NOT NULL,
    spacing  INTEGER NOT NULL, -- how far apart the log's positions are, by which blocks are counted
    position INTEGER NOT NULL, -- the last event that these views contain
    hash     BLOB NOT NULL     -- its hash, which tells this log from another one
);

CREATE TABLE stacks (
    number           INTEGER PRIMARY KEY, -- in the order of creation
    id               BLOB NOT NULL UNIQUE,
    project          TEXT NOT NULL,
    name             TEXT NOT NULL,
    action           TEXT NOT NULL,
    status           TEXT NOT NULL,
    reason           TEXT NOT NULL,
    created_at       INTEGER NOT NULL,    -- microseconds, like every time here
    updated_at       INTEGER,
    deleted_at       INTEGER,
    owner            TEXT NOT NULL,
    owner_id         TEXT NOT NULL,
    parent           BLOB,                -- the stack that a nested one stands in
    parent_resource  TEXT,                -- the resource there that it stands for
    root             BLOB NOT NULL,       -- the outermost stack: itself, if it is not nested
    depth            INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    timeout_mins     INTEGER,
    disable_rollback INTEGER NOT NULL,
    tags             TEXT NOT NULL,       -- JSON array
    user_project     TEXT,                -- the project of the users that its resources have
    position         INTEGER NOT NULL,    -- of the last event of its stream that changed something
    looked_at        INTEGER              -- when its schedule had it compared with the cloud last
);

-- What living stacks are found and counted by without a look at each; the triggers keep it.
CREATE TABLE stack_tags (
    project TEXT NOT NULL,
    tag     TEXT NOT NULL,
    stack   INTEGER NOT NULL,
    PRIMARY KEY (project, tag, stack)
) WITHOUT ROWID;

CREATE TABLE stack_counts (
    project TEXT PRIMARY KEY,
    listed  INTEGER NOT NULL              -- those that stand within no other
) WITHOUT ROWID;

CREATE TRIGGER stack_listed AFTER INSERT ON stacks WHEN new.deleted_at IS NULL AND new.parent IS NULL
BEGIN
    INSERT INTO stack_counts VALUES (new.project, 1)
        ON CONFLICT (project) DO UPDATE SET listed = listed + 1;
END;
CREATE TRIGGER stack_unlisted AFTER UPDATE OF deleted_at ON stacks
WHEN old.deleted_at IS NULL AND new.deleted_at IS NOT NULL AND new.parent IS NULL
BEGIN
    UPDATE stack_counts SET listed = listed - 1 WHERE project = new.project;
END;
CREATE TRIGGER stack_tagged AFTER UPDATE OF tags ON stacks WHEN new.tags != old.tags
BEGIN
    DELETE FROM stack_tags WHERE project = old.project AND stack = old.number
        AND tag IN (SELECT value FROM json_each(old.tags));
    INSERT INTO stack_tags SELECT DISTINCT new.project, value, new.number FROM json_each(new.tags)
        WHERE new.deleted_at IS NULL;
END;
CREATE TRIGGER stack_untagged AFTER UPDATE OF deleted_at ON stacks
WHEN old.deleted_at IS NULL AND new.deleted_at IS NOT NULL
BEGIN
    DELETE FROM stack_tags WHERE project = old.project AND stack = old.number
        AND tag IN (SELECT value FROM json_each(new.tags));
END;

-- What a stack's user_project was, for those who look back.
CREATE TABLE user_projects (
    stack    INTEGER NOT NULL,
    position INTEGER NOT NULL,            -- of the event from which on it is so
    project  TEXT,                        -- none: it is deleted
    PRIMARY KEY (stack, position)
) WITHOUT ROWID;

CREATE TABLE revisions (
    stack            INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    origin           INTEGER NOT NULL,
    position         INTEGER NOT NULL,    -- of the event, which has the rest
    at               INTEGER NOT NULL,
    action           TEXT NOT NULL,
    user             TEXT NOT NULL,
    request_id       TEXT,
    description      TEXT NOT NULL,
    parameters       TEXT NOT NULL,       -- JSON object: all text, hidden ones masked
    outputs          TEXT NOT NULL,       -- JSON array: key and description
    timeout_mins     INTEGER,
    disable_rollback INTEGER NOT NULL,
    tags             TEXT NOT NULL,
    event_sinks      TEXT NOT NULL,       -- JSON array: where the stack's events are sent
    trustor          TEXT,                -- JSON: in whose name work is done from then on
    PRIMARY KEY (stack, revision)
) WITHOUT ROWID;
CREATE INDEX revisions_with_sinks ON revisions (stack) WHERE event_sinks != '[]';

CREATE TABLE outputs (
    stack    INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,            -- of the stack's stream, from which they are
    vals     TEXT NOT NULL                -- JSON array of key, value and error; secrets sealed
);

CREATE TABLE snapshots (
    id         BLOB PRIMARY KEY,
    stack      INTEGER NOT NULL,
    place      INTEGER NOT NULL,          -- the position of its first event
    name       TEXT,
    action     TEXT NOT NULL,
    status     TEXT NOT NULL,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    settled    INTEGER                    -- the position of the event that has the resources
) WITHOUT ROWID;
CREATE INDEX snapshots_of_stack ON snapshots (stack, place);

CREATE TABLE resources (
    id          BLOB NOT NULL UNIQUE,     -- of the incarnation; the rows are in the order of their making
    stack       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    role        INTEGER NOT NULL,         -- see resources.rs
    place       INTEGER NOT NULL,         -- in the template
    action      TEXT NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    physical_id TEXT,
    stays       INTEGER NOT NULL DEFAULT 0, -- its object outlives it in the cloud
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER,
    definition  INTEGER,                  -- the position of the event that has it
    description TEXT NOT NULL,
    requires    TEXT NOT NULL             -- JSON array of names
);
CREATE INDEX resources_of_stack ON resources (stack, role, place);
CREATE INDEX resources_by_name ON resources (stack, name);

CREATE TABLE configs (
    number     INTEGER PRIMARY KEY,       -- in the order of creation
    id         BLOB NOT NULL UNIQUE,
    project    TEXT NOT NULL,
    name       TEXT,
    tool       TEXT,                      -- Heat's "group"
    created_at INTEGER NOT NULL,
    content    TEXT NOT NULL              -- JSON, sealed
);
CREATE INDEX configs_of_project ON configs (project, number);

CREATE TABLE deployments (
    number       INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    project      TEXT NOT NULL,
    user_project TEXT,                    -- of the user with which the server signals
    server       TEXT NOT NULL,
    config       BLOB,
    state        TEXT NOT NULL,           -- JSON; values in it are sealed
    inputs_at    INTEGER NOT NULL,        -- the revision of its stream from which they are
    outputs_at   INTEGER NOT NULL,        -- the same
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER
);
CREATE INDEX deployments_of_server ON deployments (server, number);
CREATE INDEX deployments_of_config ON deployments (config);

CREATE TABLE alarms (
    number     INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    project    TEXT NOT NULL,
    name       TEXT NOT NULL,
    made       TEXT NOT NULL,             -- JSON: with the rule that it has now
    metric     TEXT NOT NULL,
    span       INTEGER NOT NULL,          -- microseconds for which its data are needed
    state      TEXT NOT NULL,             -- JSON
    reason     TEXT NOT NULL,
    state_at   INTEGER,
    changed_at INTEGER NOT NULL
);
CREATE INDEX alarms_of_project ON alarms (project, name, number);

CREATE TABLE alarm_history (
    position INTEGER PRIMARY KEY,
    alarm    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,               -- Amazon's: ConfigurationUpdate, StateUpdate, Action
    summary  TEXT NOT NULL,
    data     TEXT NOT NULL                -- JSON: the event's body
);
CREATE INDEX alarm_history_of_alarm ON alarm_history (alarm, position);

CREATE TABLE metric_data (
    number     INTEGER PRIMARY KEY,
    project    TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    metric     TEXT NOT NULL,
    dimensions TEXT NOT NULL,             -- JSON, in the order of their names
    unit       TEXT,
    count      REAL NOT NULL,
    sum        REAL NOT NULL,
    minimum    REAL NOT NULL,
    maximum    REAL NOT NULL,
    at         INTEGER NOT NULL,          -- its own time
    kept_from  INTEGER NOT NULL           -- the later of that and when it came
);
CREATE INDEX metric_data_of_project ON metric_data (project, kept_from);
CREATE INDEX metric_data_of_metric ON metric_data (project, metric, at);

CREATE TABLE written (
    project TEXT NOT NULL,
    hour    INTEGER NOT NULL,             -- since 1970
    bytes   INTEGER NOT NULL,             -- that the project's events take in the log
    PRIMARY KEY (project, hour)
) WITHOUT ROWID;
CREATE INDEX written_by_hour ON written (hour);

CREATE TABLE webhooks (
    id         BLOB PRIMARY KEY,
    project    TEXT NOT NULL,
    origin     TEXT NOT NULL,
    selection  TEXT NOT NULL,             -- JSON: which events are told
    position   INTEGER NOT NULL,          -- of the event that made it
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE signals_due (
    resource BLOB NOT NULL,               -- the incarnation that took the signal
    signal   BLOB NOT NULL,
    PRIMARY KEY (resource, signal)
) WITHOUT ROWID;

CREATE TABLE event_list (
    position    INTEGER PRIMARY KEY,
    stack       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    physical_id TEXT,
    action      TEXT NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    definition  INTEGER
);
CREATE INDEX event_list_of_stack ON event_list (stack, position);

CREATE TABLE landmarks (
    key   INTEGER NOT NULL,               -- a hash: see landmarks.rs
    block INTEGER NOT NULL,               -- of positions, in which there is an event that has it
    PRIMARY KEY (key, block)
) WITHOUT ROWID;
