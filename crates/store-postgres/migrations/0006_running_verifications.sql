-- Verification jobs that a process runs now. Its renewals are lost with the server, and then repeated.

create unlogged table running_verification (
    job bytea primary key,
    -- A hash of what is verified; null if the job waits for an equal one.
    request bytea unique,
    expires_at timestamptz not null
);
