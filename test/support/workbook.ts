/** Makes workbooks (XLSX) as spreadsheets write them, and archives with any parts. */

import { crc32, deflateRawSync } from 'node:zlib';

/** A part of an archive; a number in place of its size: what the directory says. */
export type ArchivePart = {
  readonly name: string;
  readonly content: Uint8Array | string;
  readonly size?: number;
};

/** A ZIP archive. @param level of compression. */
export function archiveOf(parts: readonly ArchivePart[], level = 6): Buffer<ArrayBuffer> {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, size } of parts) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes, { level });
    const fields = Buffer.alloc(20);
    fields.writeUInt16LE(8, 2);
    fields.writeUInt32LE(crc32(bytes), 8);
    fields.writeUInt32LE(packed.length, 12);
    fields.writeUInt32LE(size ?? bytes.length, 16);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16LE(Buffer.byteLength(name), 0);
    const local = Buffer.concat([
      Buffer.from('PK\u0003\u0004\u0014\u0000', 'latin1'),
      fields,
      lengths,
      Buffer.from(name),
      packed,
    ]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([
        Buffer.from('PK\u0001\u0002\u0014\u0000\u0014\u0000', 'latin1'),
        fields,
        lengths,
        place,
        Buffer.from(name),
      ]),
    );
    bodies.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}

/** A text, a number, or the serial number of a day. */
export type WorkbookCell = string | number | { readonly day: number } | null;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function letters(column: number): string {
  const rest = Math.floor(column / 26);
  return `${rest > 0 ? letters(rest - 1) : ''}${String.fromCharCode(65 + (column % 26))}`;
}

/** The parts of a workbook with one sheet. @param options.sheet XML in place of that of the rows. */
export function workbookParts(
  rows: readonly (readonly WorkbookCell[])[],
  {
    is1904 = false,
    sheet,
    texts: ownTexts,
  }: { readonly is1904?: boolean; readonly sheet?: string; readonly texts?: string } = {},
): readonly ArchivePart[] {
  const texts = new Map<string, number>();
  const cell = (value: WorkbookCell, at: string): string => {
    if (value === null) return '';
    if (typeof value === 'number') return `<c r="${at}"><v>${value}</v></c>`;
    if (typeof value === 'object') return `<c r="${at}" s="1"><v>${value.day}</v></c>`;
    const place = texts.get(value) ?? texts.size;
    texts.set(value, place);
    return `<c r="${at}" t="s"><v>${place}</v></c>`;
  };
  const written = rows.map((cells, index) => {
    const line = index + 1;
    return `<row r="${line}">${cells.map((value, column) => cell(value, `${letters(column)}${line}`)).join('')}</row>`;
  });
  const namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  const relations = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
  return [
    {
      name: 'xl/workbook.xml',
      content: `<?xml version="1.0"?><workbook ${namespace} ${relations}><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets><sheet name="Kunden" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    {
      name: 'xl/styles.xml',
      content: `<styleSheet ${namespace}><numFmts><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: sheet ?? `<worksheet ${namespace}><sheetData>${written.join('')}</sheetData></worksheet>`,
    },
    {
      name: 'xl/sharedStrings.xml',
      content:
        ownTexts ??
        `<sst ${namespace}>${[...texts.keys()].map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join('')}</sst>`,
    },
  ];
}

export function workbookOf(...parameters: Parameters<typeof workbookParts>): Buffer<ArrayBuffer> {
  return archiveOf(workbookParts(...parameters));
}
