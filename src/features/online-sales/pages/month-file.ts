/** The online sales of a month as a file for accountants, in the language and the form of its reader. */

import type { ExportRow } from '../../../core/tables/domain/export-table.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listMonthSales, monthColumns, type MonthPart } from '../service/month.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { FileResponse } from '../../../pages/kit/route.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { shownTable, tableFile, wordOf, type TableFormat } from '../../../pages/kit/table-file.ts';
import { catalogue, type PageLanguage } from '../../../pages/kit/texts.ts';

type MonthOf = { readonly store: Pick<Store, 'id' | 'timeZone'>; readonly month: string };

const rowsInPart = 500;

async function readPart(
  services: ConsoleServices,
  { store, month }: MonthOf,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<MonthPart> {
  const read = { month, after, limit };
  return await longReads(services).read(() => listMonthSales(services.ctx, store, read));
}

/** Whether the table of a month has a row. */
export async function hasMonthSales(services: ConsoleServices, of: MonthOf): Promise<boolean> {
  return (await readPart(services, of, { after: 0, limit: 1 })).rows.length > 0;
}

async function* partsOf(services: ConsoleServices, of: MonthOf): AsyncGenerator<MonthPart['rows'], void> {
  for (let after: number | null = 0; after !== null;) {
    const part: MonthPart = await readPart(services, of, { after, limit: rowsInPart });
    yield part.rows;
    after = part.next;
  }
}

async function* shownParts(
  parts: AsyncIterable<MonthPart['rows']>,
  language: PageLanguage,
): AsyncGenerator<readonly ExportRow[], void> {
  const { onlineSales: text, tables } = catalogue[language];
  const reasons = { ...text.returnReasons, ...text.cardless };
  for await (const rows of parts)
    yield rows.map(({ isTest, ...row }) => {
      const provider = text.providers[row.provider];
      return {
        ...row,
        provider: isTest ? `${provider} (${text.test})` : provider,
        vat_kind: wordOf(row.vat_kind, tables.vatKinds),
        no_card: wordOf(row.no_card, reasons),
      };
    });
}

export function monthSalesFile(
  services: ConsoleServices,
  of: MonthOf,
  { format, language }: { readonly format: TableFormat; readonly language: PageLanguage },
): FileResponse['file'] {
  const parts = shownParts(partsOf(services, of), language);
  const { timeZone } = of.store;
  const table = shownTable({ columns: monthColumns, parts }, { language, timeZone });
  const { title } = catalogue[language].onlineSales;
  return tableFile(table, { format, language, name: `online-sales-${of.month}`, title });
}
