-- The newest block whose internal transactions were matched with webhooks.

alter table webhook_progress add column internal_cursor int8;
