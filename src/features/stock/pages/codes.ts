/** The codes of a stock that are left: as a table, and as sheets to print. */

import type { CountedStock } from '../../../core/stocks/domain/stock.ts';
import { listLeftCodes, stockExport } from '../service/codes.ts';
import { readStockCodes } from '../service/staff-stock.ts';
import { sheetPlaceOf, sheetsPage } from '../../card-pages/pages/sheets.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { shownTable, tableFile, type TableFormat } from '../../../pages/kit/table-file.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

/** Records that a person reads the codes. @throws Fault `not-found` if they cannot be read. */
async function readCodes(page: Page): Promise<CountedStock> {
  return await page.write(() => readStockCodes(page.ctx, page.by, page.storedId()));
}

export async function codesFile(page: Page, format: TableFormat): Promise<ConsoleResponse> {
  const { stock } = await readCodes(page);
  const place = { ctx: page.ctx, storage: longReads(page.services) };
  const { language } = page;
  const table = shownTable(stockExport(place, stock, { from: 0 }), {
    language,
    timeZone: page.store.timeZone,
    // People count from 1, as on the sheets.
    toRow: (row) => ({ ...row, index: Number(row['index']) + 1 }),
  });
  const title = stock.name ?? page.text.stock.unnamed;
  return {
    status: 200,
    file: tableFile(table, { format, language, name: `printed-cards-${stock.id}`, title }),
  };
}

export async function printPage(page: Page): Promise<ConsoleResponse> {
  const { stock } = await readCodes(page);
  const { print: text } = page.text.stock;
  const place = sheetPlaceOf(page, { isAnyPlace: true });
  const { from, limit } = place;
  const { codes, next } = await longReads(page.services).read(() =>
    listLeftCodes(page.ctx, stock, { from, limit }),
  );
  const format = new Intl.NumberFormat(page.language);
  const numberOf = (index: number | undefined): string => format.format((index ?? 0) + 1);
  const card = { senderName: null, recipientName: null, message: null, expiresOn: null };
  return await sheetsPage(page, {
    path: `/cards/stock/${stock.id}`,
    place,
    cards: codes.map(({ code }) => ({ card, code, amount: stock.fixedValue, design: null })),
    hint:
      codes.length === 0
        ? text.none
        : fillPlain(text.hint, {
            from: numberOf(codes.at(0)?.index),
            to: numberOf(codes.at(-1)?.index),
            count: format.format(stock.codes),
          }),
    previous: from > 0 ? Math.max(0, from - limit) : null,
    next,
  });
}
