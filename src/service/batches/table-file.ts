/** Uploaded tables as text: CSV in any encoding, and workbooks (XLSX), which are limited before they are unpacked. */

import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { batchFileBytesMax } from '../../domain/batches/columns.ts';
import type { DecimalSign } from '../../domain/money/written-amount.ts';
import { fileTooLarge, MalformedTable, notText, textOfFile } from '../../domain/table-text.ts';
import {
  readRelations,
  readSharedTexts,
  readSheet,
  readStyles,
  readWorkbook,
  workbookParts,
  type Paused,
} from '../../domain/workbook.ts';
import { MalformedXml } from '../../domain/xml.ts';
import {
  isArchive,
  openArchive,
  UnreadableArchive,
  type Archive,
  type ArchiveLimits,
} from '../../platform/zip.ts';

/** 10,000 cards with ten cells each are about 6 MiB of XML, 12 times as large as the file. */
const workbookLimits: ArchiveLimits = { entriesMax: 1_000, bytesMax: 32 * 2 ** 20, ratioMax: 200 };

/** The digest by which a file is known again, in hexadecimal digits. */
export function digestOfFile(file: Uint8Array | string): string {
  return createHash('sha256').update(file).digest('hex');
}

export type TableFile = {
  readonly text: string;
  /** The name of its sheet; null: it is not a workbook. */
  readonly sheet: string | null;
};

/**
 * @param options.decimalSign that of numbers of a workbook, which are written in the notation of the reader.
 * @throws MalformedTable if the file is not a table, or above a limit.
 */
export async function readTableFile(
  bytes: Uint8Array,
  { decimalSign }: { readonly decimalSign: DecimalSign },
): Promise<TableFile> {
  if (bytes.length > batchFileBytesMax) throw new MalformedTable(1, fileTooLarge);
  if (!isArchive(bytes)) return { text: textOfFile(bytes), sheet: null };
  try {
    return await readSheets(openArchive(bytes, workbookLimits), decimalSign);
  } catch (error) {
    if (error instanceof UnreadableArchive || error instanceof MalformedXml)
      throw new MalformedTable(1, notText);
    throw error;
  }
}

async function readSheets(archive: Archive, decimalSign: DecimalSign): Promise<TableFile> {
  const read = async (name: string): Promise<string | undefined> => {
    const part = await archive.read(name);
    return part && xmlOf(part);
  };
  const book = await read(workbookParts.workbook);
  const relations = await read(workbookParts.relations);
  if (book === undefined || relations === undefined) throw new MalformedTable(1, notText);
  const { sheets, daySystem } = await completed(readWorkbook(book));
  const parts = await completed(readRelations(relations));
  const styles = await completed(readStyles((await read(workbookParts.styles)) ?? ''));
  const texts = await completed(readSharedTexts((await read(workbookParts.texts)) ?? ''));
  const place = { texts, styles, daySystem, decimalSign, lengthMax: batchFileBytesMax };
  for (const { name, relation } of sheets) {
    const xml = await read(parts.get(relation) ?? '');
    if (xml === undefined) continue;
    const text = await completed(readSheet(xml, place));
    if (text !== '') return { text, sheet: name };
  }
  throw new MalformedTable(1, 'must have the names of the columns');
}

/** Runs a reader, between whose parts other requests run. */
async function completed<Result>(reader: Paused<Result>): Promise<Result> {
  for (;;) {
    const step = reader.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/** @throws MalformedXml if the part is not UTF-8, which all programs write. */
function xmlOf(part: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(part);
  } catch {
    throw new MalformedXml('is not UTF-8');
  }
}
