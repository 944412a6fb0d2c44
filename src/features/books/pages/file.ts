/** The table of a report as a file for people. Its rows and amounts are those of the API. */

import type { ShownColumn, ExportRow } from '../../../core/tables/domain/export-table.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  reportColumns,
  reportFileName,
  reportRow,
  type ReportName,
  type ReportRows,
} from '../service/report-file.ts';
import type { FileResponse } from '../../../pages/kit/route.ts';
import {
  partsOfRows,
  shownTable,
  tableFile,
  wordOf,
  type TableFormat,
} from '../../../pages/kit/table-file.ts';
import { catalogue, type PageLanguage } from '../../../pages/kit/texts.ts';

/** A report as a table, with what its groups are. */
export type ReportTable = ReportRows & {
  readonly group?: Partial<Pick<ShownColumn, 'kind' | 'heading'>>;
  /** The name of a group; absent: the group itself. */
  readonly groupName?: (group: string) => string;
};

/** Reports with words instead of the values of the API. */
function wordsOf(name: ReportName, language: PageLanguage): (row: ExportRow) => ExportRow {
  if (name !== 'journal') return (row) => row;
  const { reports, tables } = catalogue[language];
  return (row) => ({
    ...row,
    kind: wordOf(row['kind'], reports.kinds),
    account: wordOf(row['account'], reports.accounts),
    vat_kind: wordOf(row['vat_kind'], tables.vatKinds),
    vat_due: wordOf(row['vat_due'], tables.vatDue),
  });
}

export function reportTableFile(
  store: Pick<Store, 'currency' | 'timeZone'>,
  name: ReportName,
  made: ReportTable,
  { format, language }: { readonly format: TableFormat; readonly language: PageLanguage },
): FileResponse['file'] {
  const { reports } = catalogue[language];
  const { rows, group, groupName } = made;
  const withWords = wordsOf(name, language);
  const toRow = (row: ExportRow): ExportRow => {
    const named = row['group'];
    return groupName && typeof named === 'string' ? { ...row, group: groupName(named) } : withWords(row);
  };
  const parts = partsOfRows(rows, (row) => reportRow(store, row));
  const special = {
    ...(group && { group }),
    // The month of the sale, and not an amount.
    ...(name === 'aging' && { issued: { kind: 'month', heading: reports.columns.issuedIn } as const }),
  };
  const table = shownTable(
    { columns: reportColumns[name], parts },
    { language, timeZone: store.timeZone, special, toRow },
  );
  const title = reports.titles[name];
  return tableFile(table, { format, language, name: reportFileName(name, made), title });
}
