/** A list for form letters: one line for each card that can be printed, with its amount and days as people read them. */

import type { Batch } from '../../domain/batches/batch.ts';
import { csvOf, csvRowsOf } from '../../domain/csv.ts';
import { holderOf } from '../../domain/emails/email.ts';
import { cardLink } from '../../domain/emails/recipient-page.ts';
import type { Location } from '../../domain/stores/location.ts';
import { batchKeyOf } from '../../service/batches/batch.ts';
import { printableCards, type PrintableCard } from '../../service/batches/batch-lists.ts';
import { findSalePlaces } from '../../service/cards/sale-place.ts';
import { readEmailSettings } from '../../service/emails/settings.ts';
import { groupedCode } from '../kit/code-view.ts';
import { csvDialectOf, dayText } from '../kit/format.ts';
import { identityOf, placeLines } from '../kit/identity.ts';
import { longReads } from '../kit/long-reads.ts';
import { qrPageOf } from '../cards/recipient-page.ts';
import { reachedOnPaper } from '../cards/sheet.ts';
import type { Page } from '../kit/page-context.ts';

function placeLinesOf(location: Location | undefined): readonly string[] {
  return location ? placeLines(location) : [];
}

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
    text.shop,
    text.contact,
  ];
  const link = qrPageOf(page.services, page.store);
  const rowOf = (
    { card, code }: PrintableCard,
    {
      reached,
      places,
    }: { readonly reached: readonly string[]; readonly places: ReadonlyMap<number, Location> },
  ) => ({
    [text.name]: card.recipientName,
    [text.email]: holderOf(card)?.email ?? null,
    [text.sender]: card.senderName,
    [text.code]: groupedCode(code),
    [text.amount]: page.amount(card.initialValue),
    [text.expires]: card.expiresOn === null ? null : dayText(card.expiresOn, page.language),
    [text.link]: link === null ? null : cardLink(link, code),
    [text.message]: card.message,
    [text.shop]: page.store.name,
    [text.contact]: [...placeLinesOf(places.get(card.id)), ...reached].join('\n') || null,
  });
  const dialect = csvDialectOf(page.language);
  const place = { ctx: page.ctx, storage: longReads(page.services) };
  const cards = printableCards(place, { store: page.store, key: batchKeyOf(batch) });
  return (async function* parts() {
    yield csvOf(names, [], dialect);
    const reached = reachedOnPaper(identityOf(await page.read(() => readEmailSettings(page.store.id))));
    for await (const some of cards) {
      const ids = some.map(({ card }) => card.id);
      const places = await place.storage.read(() => findSalePlaces(page.store.id, ids));
      yield csvRowsOf(
        names,
        some.map((card) => rowOf(card, { reached, places })),
        dialect,
      );
    }
  })();
}
