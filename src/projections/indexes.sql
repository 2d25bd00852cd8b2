-- Indexes that only reads use: made at once when the views have caught up with the log, which costs
-- a fraction of what each event would cost.
CREATE INDEX IF NOT EXISTS stacks_alive ON stacks (project, number) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS stacks_listed ON stacks (project, number) WHERE deleted_at IS NULL AND parent IS NULL;
CREATE INDEX IF NOT EXISTS stacks_of_root ON stacks (root);
CREATE INDEX IF NOT EXISTS stacks_of_users ON stacks (user_project) WHERE user_project IS NOT NULL;
CREATE INDEX IF NOT EXISTS stacks_alive_anywhere ON stacks (number) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS stacks_by_name ON stacks (project, name) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS stacks_ever_named ON stacks (name);
CREATE INDEX IF NOT EXISTS stacks_unsettled ON stacks (number) WHERE status = 'IN_PROGRESS';
CREATE INDEX IF NOT EXISTS stacks_failed ON stacks (number) WHERE status = 'FAILED';
-- The schedules by which stacks are compared with the cloud.
CREATE INDEX IF NOT EXISTS stack_schedules ON stack_tags (stack) WHERE substr(tag, 1, 19) = 'hearth:drift_every=';
CREATE INDEX IF NOT EXISTS resources_by_physical_id ON resources (physical_id) WHERE physical_id IS NOT NULL;
