/** Reads an uploaded table as text: CSV in any encoding, and workbooks (XLSX), which are limited before they are unpacked. */

import { batchCardsMax, tooManyCards } from '../domain/batch.ts';
import { batchFileBytesMax } from '../domain/columns.ts';
import type { DecimalSign } from '../../../core/tables/domain/written-amount.ts';
import { MalformedTable, notText, textOfFile } from '../../../core/tables/domain/table-text.ts';
import {
  readRelations,
  readSharedTexts,
  readSheet,
  readStyles,
  readWorkbook,
  workbookParts,
} from '../../../core/tables/domain/workbook.ts';
import { MalformedXml } from '../../../core/tables/domain/xml.ts';
import {
  isArchive,
  openArchive,
  UnreadableArchive,
  type Archive,
  type ArchiveLimits,
} from '../../../platform/zip.ts';

/** 10,000 cards with ten cells each are about 6 MiB of XML, 12 times as large as the file. */
const workbookLimits: ArchiveLimits = { entriesMax: 1_000, bytesMax: 32 * 2 ** 20, ratioMax: 200 };

/** The bytes that are text at the same time. */
const windowBytes = 65_536;

export type TableFile = {
  readonly text: string;
  /** The name of its sheet; null: it is not a workbook. */
  readonly sheet: string | null;
};

export type TableNotation = {
  /** The decimal sign of numbers of a workbook, which are written in the notation of the reader. */
  readonly decimalSign: DecimalSign;
};

/** Computes for up to some seconds: it runs in a thread. @throws MalformedTable. */
export async function readTableBytes(bytes: Uint8Array, { decimalSign }: TableNotation): Promise<TableFile> {
  if (!isArchive(bytes)) return { text: textOfFile(bytes), sheet: null };
  try {
    return await readSheets(await openArchive(bytes, workbookLimits), decimalSign);
  } catch (error) {
    if (error instanceof UnreadableArchive || error instanceof MalformedXml)
      throw new MalformedTable(1, notText, { cause: error });
    throw error;
  }
}

async function readSheets(archive: Archive, decimalSign: DecimalSign): Promise<TableFile> {
  const read = async (name: string): Promise<Iterable<string> | undefined> => {
    const part = await archive.read(name);
    return part && windowsOf(part);
  };
  const book = await read(workbookParts.workbook);
  const relations = await read(workbookParts.relations);
  if (book === undefined || relations === undefined) throw new MalformedTable(1, notText);
  const { sheets, daySystem } = readWorkbook(book);
  const parts = readRelations(relations);
  const styles = readStyles((await read(workbookParts.styles)) ?? []);
  const texts = readSharedTexts((await read(workbookParts.texts)) ?? []);
  const limits = { lengthMax: batchFileBytesMax, rowsMax: batchCardsMax, tooManyRows: tooManyCards };
  const place = { texts, styles, daySystem, decimalSign, ...limits };
  for (const { name, relation } of sheets) {
    const xml = await read(parts.get(relation) ?? '');
    if (xml === undefined) continue;
    const text = readSheet(xml, place);
    if (text !== '') return { text, sheet: name };
  }
  throw new MalformedTable(1, 'must have the names of the columns');
}

/** The text of a part, a window at a time. @throws MalformedXml if it is not UTF-8, which all programs write. */
function* windowsOf(part: Uint8Array): Generator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let at = 0; at < part.length; at += windowBytes) {
    const isLast = at + windowBytes >= part.length;
    yield decoded(decoder, part.subarray(at, at + windowBytes), isLast);
  }
}

function decoded(decoder: TextDecoder, bytes: Uint8Array, isLast: boolean): string {
  try {
    return decoder.decode(bytes, { stream: !isLast });
  } catch {
    throw new MalformedXml('is not UTF-8');
  }
}
