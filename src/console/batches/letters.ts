/** A list for form letters: one line for each card that can be printed, with its amount and days as people read them. */

import type { Batch } from '../../domain/batches/batch.ts';
import { csvOf, csvRowsOf } from '../../domain/csv.ts';
import { holderOf } from '../../domain/emails/email.ts';
import { cardLink } from '../../domain/emails/recipient-page.ts';
import { batchKeyOf } from '../../service/batches/batch.ts';
import { printableCards, type PrintableCard } from '../../service/batches/batch-lists.ts';
import { groupedCode } from '../kit/code-view.ts';
import { csvDialectOf, dayText } from '../kit/format.ts';
import { longReads } from '../kit/long-reads.ts';
import { qrPageOf } from '../cards/recipient-page.ts';
import type { Page } from '../kit/page-context.ts';

/** The parts of the file. @throws Fault `not-found` if there is no such batch. */
export function letterList(page: Page, batch: Batch): AsyncGenerator<string, void> {
  const { letters: text } = page.text.batches.campaign;
  const names = [
    text.name,
    text.email,
    text.sender,
    text.code,
    text.amount,
    text.expires,
    text.link,
    text.message,
  ];
  const link = qrPageOf(page.services, page.store);
  const rowOf = ({ card, code }: PrintableCard) => ({
    [text.name]: card.recipientName,
    [text.email]: holderOf(card)?.email ?? null,
    [text.sender]: card.senderName,
    [text.code]: groupedCode(code),
    [text.amount]: page.amount(card.initialValue),
    [text.expires]: card.expiresOn === null ? null : dayText(card.expiresOn, page.language),
    [text.link]: link === null ? null : cardLink(link, code),
    [text.message]: card.message,
  });
  const dialect = csvDialectOf(page.language);
  const place = { ctx: page.ctx, storage: longReads(page.services) };
  const cards = printableCards(place, { store: page.store, key: batchKeyOf(batch) });
  return (async function* parts() {
    yield csvOf(names, [], dialect);
    for await (const some of cards) yield csvRowsOf(names, some.map(rowOf), dialect);
  })();
}
