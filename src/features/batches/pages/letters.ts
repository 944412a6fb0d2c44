/** A list for form letters: one line for each card that can be printed, with its amount and days as people read them. */

import type { Batch } from '../domain/batch.ts';
import { csvOf, csvRowsOf } from '../../../core/tables/domain/csv.ts';
import { holderOf } from '../../../core/emails/domain/email.ts';
import { cardLink } from '../../../core/emails/domain/recipient-page.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { batchKeyOf } from '../service/batch.ts';
import { printableCards, type PrintableCard } from '../service/batch-lists.ts';
import { findSalePlaces } from '../../../core/cards/service/sale-place.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { groupedCode } from '../../../pages/kit/code-view.ts';
import { csvDialectOf, dayText } from '../../../pages/kit/format.ts';
import { identityOf, placeLines } from '../../../pages/kit/identity.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { qrPageOf } from '../../card-pages/pages/recipient-page.ts';
import { reachedOnPaper } from '../../card-pages/pages/sheet.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

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
