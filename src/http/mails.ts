/** A card's mails over HTTP: what became of them, sending it again, and another code. */

import type { MailWay } from '../config.ts';
import type { Card } from '../domain/card.ts';
import { mailRecordOf, type MailDelivery } from '../domain/mail.ts';
import type { MailDeliveryRecord } from '../domain/schemas.ts';
import { recordOf } from '../domain/record.ts';
import type { Store } from '../domain/store.ts';
import type { Answer } from '../service/idempotency.ts';
import { listCardMails, notify, rotateCode, type RotateCommand } from '../service/mail.ts';
import type { KeptMails } from './dev-mails.ts';
import { cardEtagOf } from './etag.ts';
import type { Exchange } from './exchange.ts';
import { jsonHeaders, listed, pageRequestOf } from './history.ts';
import { readBody } from './money.ts';
import { idOf, versionsOf } from './reading.ts';

/** What the HTTP side knows of the sending of mails. */
export type MailServices = {
  readonly way: MailWay;
  /** Where a service in development keeps emails, for its page; null: no page shows them. */
  readonly kept: KeptMails | null;
  /** Logs, once for each store, that an issued card is not emailed because the service sends no email. */
  readonly noteUnsent: (store: Store) => void;
};

/** `GET /gift_card/{gift_card_id}/deliveries` */
export async function listDeliveries(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const cardId = idOf(exchange, 'gift_card_id');
  const request = pageRequestOf(exchange);
  const page = await storage.read(() => listCardMails({ storeId: caller.store.id, cardId }, request));
  return listed(exchange, page, { deliveries: page.items.map((delivery) => shown(exchange, delivery)) });
}

/** `POST /gift_card/{gift_card_id}/notify` */
export async function postNotify(exchange: Exchange): Promise<Answer> {
  const { ctx } = exchange;
  const { body: sent, values } = readBody(exchange, 'gift_card', {});
  return exchange.write(sent, function* () {
    const command = commandOf(exchange);
    values();
    const { card, delivery } = yield* notify(ctx, { ...command, canSend: exchange.canSend });
    const body = { delivery: shown(exchange, delivery), gift_card: recordOf(ctx.keys.publicIds, card) };
    return answer(exchange, 201, body, card);
  });
}

/** `POST /gift_card/{gift_card_id}/rotate_code` */
export async function postRotateCode(exchange: Exchange): Promise<Answer> {
  const { ctx } = exchange;
  const { body, values } = readBody(exchange, 'gift_card', {});
  return exchange.write(body, function* () {
    const command = commandOf(exchange);
    values();
    const { card, code } = yield* rotateCode(ctx, command);
    const gift_card = { ...recordOf(ctx.keys.publicIds, card), code: code.reveal() };
    return answer(exchange, 200, { gift_card }, card);
  });
}

function commandOf(exchange: Exchange): RotateCommand {
  const cardId = idOf(exchange, 'gift_card_id');
  return { store: exchange.caller.store, cardId, versions: versionsOf(exchange)(cardId) };
}

function shown({ ctx, caller }: Exchange, delivery: MailDelivery): MailDeliveryRecord {
  return mailRecordOf(ctx.keys.publicIds, delivery, { domain: caller.store.domain, now: ctx.clock.now() });
}

function answer({ ctx }: Exchange, status: number, body: object, card: Card): Answer {
  const etag = cardEtagOf(ctx.keys.publicIds, card);
  return { status, headers: { ...jsonHeaders, etag }, body: JSON.stringify(body) };
}
