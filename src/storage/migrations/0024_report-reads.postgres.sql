-- The terms that cards had before a change, so that a report of the past finds cards without reading all later changes.
-- `src/storage/card-terms.ts` has the same expressions.
create index card_changes_by_former_expiry
  on card_changes (store_id, substr(fields, strpos(fields, '["expires_on","') + 15, 10), id)
  where strpos(fields, '["expires_on","') > 0;
create index card_changes_by_former_disabling
  on card_changes (store_id, substr(fields, strpos(fields, '["disabled_at",') + 15, 13), id)
  where strpos(fields, '["disabled_at",') > 0 and strpos(fields, '["disabled_at",null') = 0;

-- The ages of closed days stay beside those of their months, so that a report within a month does not sum its days.
create index store_ages_of_months on store_ages (store_id, currency, month) where length(month) = 7;
create index store_ages_of_days on store_ages (store_id, currency, month) where length(month) = 10;
