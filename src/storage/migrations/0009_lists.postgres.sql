-- Names and tags of cards, and the indexes of their lists. Each index contains only the cards that it can find.

alter table gift_cards add column sender_name text collate "C", add column recipient_name text collate "C",
  -- Each tag between newlines, so that one is found by its text.
  add column tags text collate "C";

create index gift_cards_by_expiry on gift_cards (store_id, expires_on, id) where expires_on is not null;
create index gift_cards_by_disabling on gift_cards (store_id, disabled_at, id) where disabled_at is not null;
create index gift_cards_by_order on gift_cards (store_id, order_id, id) where order_id is not null;
-- Emails with a new card's code that are scheduled, and those that were not delivered.
create index email_deliveries_scheduled on email_deliveries (store_id, card_id, id)
  where kind = 'gift_card' and state = 'scheduled';
create index email_deliveries_failed on email_deliveries (store_id, state, card_id, id)
  where kind = 'gift_card' and (state = 'bounced' or state = 'dead');
