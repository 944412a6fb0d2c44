-- The key of the MAC of the backups of a recovery sheet, sealed, and bound to the sheet.
alter table backup_settings add column mac_key bytea;
alter table backup_settings add column draft_mac_key bytea;
-- A sheet whose MAC key is not known makes no backups: an owner makes a new one.
update backup_settings set recipient = null, sheet_digest = null, sheet_made_at = null, sheet_seen_at = null,
  draft_recipient = null, draft_digest = null;
