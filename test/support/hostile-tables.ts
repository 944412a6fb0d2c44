/** Files of at most 4 MiB that are made to cost a reader of tables much: none of them can be read, whatever their form says. */

import { createCipheriv } from 'node:crypto';
import { archiveOf, workbookParts, type ArchivePart } from './workbook.ts';

const namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

/** The size of a part: the limit is 32 MiB. */
const partLength = 31 * 2 ** 20;
const fileLength = 4 * 2 ** 20;

/** The same hexadecimal digits each time, which cannot be packed: a part may be at most 200 times as large as it is packed. */
function padding(length: number): string {
  const stream = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16));
  return stream.update(Buffer.alloc(length / 2)).toString('hex');
}

const pad = `<pad>${padding(400_000)}</pad>`;

function repeated(unit: string, length = partLength - pad.length - 1_000): string {
  return unit.repeat(Math.floor(length / unit.length));
}

/** A list of numbered elements. */
function numbered(count: number, element: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => element(index)).join('');
}

const rows = [
  ['Betrag', 'Name'],
  ['25,00', 'Ada'],
] as const;

type Parts = Readonly<Record<string, string | Uint8Array>>;

const names = {
  workbook: 'xl/workbook.xml',
  relations: 'xl/_rels/workbook.xml.rels',
  styles: 'xl/styles.xml',
  sheet: 'xl/worksheets/sheet1.xml',
  texts: 'xl/sharedStrings.xml',
} as const;

/** The parts of a good workbook, some of which are replaced. */
function partsWith(others: Parts): readonly ArchivePart[] {
  return workbookParts(rows).map((part) => ({ ...part, content: others[part.name] ?? part.content }));
}

function workbookWith(others: Parts): Buffer {
  // A higher level takes most of the time of the tests.
  return archiveOf(partsWith(others), 1);
}

function sheet(content: string): Buffer {
  return workbookWith({
    [names.sheet]: `<worksheet ${namespace}>${pad}<sheetData>${content}</sheetData></worksheet>`,
  });
}

function texts(content: string): Buffer {
  return workbookWith({ [names.texts]: `<sst ${namespace}>${pad}${content}</sst>` });
}

function inlineCell(text: string): string {
  return `<row r="1"><c t="inlineStr"><is><t>${text}</t></is></c></row>`;
}

/** Rows of cells with a text. */
function cellsOf(text: string, attributes = ''): string {
  const cell = `<c t="inlineStr"${attributes}><is><t>${text}</t></is></c>`;
  const row = `<row>${cell.repeat(10)}</row>`;
  return repeated(row);
}

/** A good workbook with other bytes in its directory or its parts. */
function changed(change: (bytes: Buffer, directory: number) => void): Buffer {
  const bytes = archiveOf(workbookParts(rows));
  change(bytes, bytes.readUInt32LE(bytes.length - 6));
  return bytes;
}

const laughs = Array.from(
  { length: 20 },
  (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`,
);

const workbooks: Readonly<Record<string, () => Buffer>> = {
  'escapes in a cell': () => sheet(inlineCell(repeated('_x0041_'))),
  'escapes in a shared text': () => texts(`<si><t>${repeated('_x0041_')}</t></si>`),
  'escapes in many cells': () => sheet(cellsOf('_x0041_'.repeat(1_000))),
  'escapes in many shared texts': () => texts(repeated(`<si><t>${'_x0041_'.repeat(1_000)}</t></si>`)),
  'references in a cell': () => sheet(inlineCell(repeated('&#65;'))),
  'references in a shared text': () => texts(`<si><t>${repeated('&#65;')}</t></si>`),
  'references in many cells': () => sheet(cellsOf('&#65;'.repeat(700))),
  'references in an attribute': () => sheet(`<row r="1"><c r="${repeated('&#65;')}"><v>1</v></c></row>`),
  'references in many attributes': () =>
    sheet(repeated(`<row><c r="${'&#65;'.repeat(1_900)}"><v>1</v></c></row>`)),
  '900 attributes in tags': () =>
    sheet(repeated(`<row><c${numbered(900, (index) => ` a${index}="1"`)}><v>1</v></c></row>`)),
  '64 attributes in many tags': () =>
    sheet(repeated(`<row><c${numbered(64, (index) => ` a${index}="1"`)}></c></row>`)),
  'a tag of 31 MiB': () => sheet(`<row r="1"><c x="${repeated('x')}"><v>1</v></c></row>`),
  'a tag with blanks of 31 MiB': () => sheet(`<row r="1"><c${repeated(' ')}><v>1</v></c></row>`),
  'a name of 31 MiB': () => sheet(`<${repeated('x')}/>`),
  'comments only': () => sheet(repeated('<!---->')),
  'a comment of 31 MiB': () => sheet(`<!--${repeated('x')}-->`),
  'instructions only': () => sheet(repeated('<?x?>')),
  'empty sections of characters': () => sheet(repeated('<![CDATA[]]>')),
  'rows 1 and 1,048,576': () =>
    sheet('<row r="1"><c><v>1</v></c></row><row r="1048576"><c><v>1</v></c></row>'),
  '1,048,576 empty rows': () => sheet(numbered(2 ** 20, (index) => `<row r="${index + 1}"/>`)),
  'a row of millions of cells': () => sheet(`<row r="1">${repeated('<c/>')}</row>`),
  'a row of filled cells': () => sheet(`<row r="1">${repeated('<c><v>1</v></c>')}</row>`),
  'rows without number or end': () => sheet(repeated('<row>')),
  'deep nesting': () => sheet(repeated('<a>', partLength / 2) + repeated('</a>', partLength / 2 - 500_000)),
  'a number of 31 MiB': () => sheet(`<row r="1"><c><v>${repeated('1')}</v></c></row>`),
  'characters that open tags': () => sheet(repeated('<')),
  'characters that open references': () => sheet(inlineCell(repeated('&'))),
  'blanks only': () => sheet(repeated(' ')),
  'a sheet of NULs': () => sheet(repeated('\u0000')),
  'a sheet that is not UTF-8 at its end': () =>
    workbookWith({
      [names.sheet]: Buffer.concat([
        Buffer.from(`<worksheet ${namespace}>${pad}<sheetData>${repeated(' ')}`),
        Buffer.from([0xff, 0xfe]),
      ]),
    }),
  '10,000 sheets': () =>
    workbookWith({
      [names.workbook]: `<workbook>${pad}<sheets>${numbered(10_000, (index) => `<sheet name="S${index}" sheetId="${index + 1}" r:id="rId1"/>`)}</sheets></workbook>`,
    }),
  '100 empty sheets of a third of a MiB': () =>
    workbookWith({
      [names.workbook]: `<workbook><sheets>${numbered(100, (index) => `<sheet name="S${index}" sheetId="${index + 1}" r:id="rId1"/>`)}</sheets></workbook>`,
      [names.sheet]: `<worksheet>${pad}<sheetData>${repeated('<c/>', 300_000)}</sheetData></worksheet>`,
    }),
  'millions of empty shared texts': () => texts(repeated('<si/>')),
  'long shared texts': () => texts(repeated(`<si><t>${'x'.repeat(30_000)}</t></si>`)),
  'a shared text in all cells': () =>
    workbookWith({
      [names.texts]: `<sst><si><t>${'x'.repeat(30_000)}</t></si></sst>`,
      [names.sheet]: `<worksheet><sheetData>${repeated('<row><c t="s"><v>0</v></c></row>', 330_000)}${pad}</sheetData></worksheet>`,
    }),
  'readings of texts': () => texts(`<si>${repeated('<rPh sb="0" eb="1"><t>x</t></rPh>')}</si>`),
  'entities that multiply': () =>
    workbookWith({
      [names.texts]: `<!DOCTYPE sst [<!ENTITY l0 "ha">${laughs.join('')}]><sst><si><t>&l20;</t></si></sst>`,
    }),
  'an external entity': () =>
    workbookWith({
      [names.texts]: '<!DOCTYPE sst [<!ENTITY a SYSTEM "file:///etc/passwd">]><sst><si><t>&a;</t></si></sst>',
    }),
  'formats of numbers': () =>
    workbookWith({
      [names.styles]: `<styleSheet>${pad}<numFmts>${repeated(`<numFmt numFmtId="164" formatCode="${'[y'.repeat(120)}"/>`)}`,
    }),
  'relations without number': () =>
    workbookWith({
      [names.relations]: `<Relationships>${pad}${numbered(300_000, (index) => `<Relationship Id="r${index}" Target="x"/>`)}</Relationships>`,
    }),
  'a ratio of a bomb': () => workbookWith({ [names.sheet]: `<worksheet>${repeated(' ')}</worksheet>` }),
  '65,535 parts': () =>
    archiveOf([
      ...workbookParts(rows),
      ...Array.from({ length: 40_000 }, () => ({ name: 'x', content: '' })),
    ]),
  'a part twice': () => archiveOf([...workbookParts(rows), ...workbookParts([['Name'], ['Grace']])]),
  'a size of 4 GiB': () => archiveOf(partsWith({}).map((part) => ({ ...part, size: 0xffff_ffff }))),
  'sizes above those of the parts': () => archiveOf(partsWith({}).map((part) => ({ ...part, size: 4_000 }))),
  'sizes below those of the parts': () => archiveOf(partsWith({}).map((part) => ({ ...part, size: 10 }))),
  'a wrong checksum': () => changed((bytes, at) => bytes.writeUInt32LE(1, at + 16)),
  'an unknown compression': () => changed((bytes, at) => bytes.writeUInt16LE(99, at + 10)),
  'an encrypted part': () => changed((bytes, at) => bytes.writeUInt16LE(1, at + 8)),
  'a part after the end': () => changed((bytes, at) => bytes.writeUInt32LE(0xffff_fff0, at + 42)),
  'a directory after the end': () => changed((bytes) => bytes.writeUInt32LE(0xffff_fff0, bytes.length - 6)),
  'an archive without an end': () => workbookWith({}).subarray(0, 900),
  'signatures only': () => Buffer.alloc(fileLength, 'PK\u0003\u0004'),
};

const csvFiles: Readonly<Record<string, () => Buffer>> = {
  'quotation marks only': () => Buffer.alloc(fileLength, '"'),
  'an odd number of quotation marks': () => Buffer.alloc(fileLength - 1, '"'),
  'a quotation mark and a long text': () => Buffer.alloc(fileLength, 'x').fill('"', 0, 1),
  'a cell of 4 MiB': () => Buffer.alloc(fileLength, 'x'),
  'rows of quotation marks': () => Buffer.alloc(fileLength, `a,b\n${'""'.repeat(100)}\n`),
  'commas only': () => Buffer.alloc(fileLength, ','),
  'semicolons in lines': () => Buffer.alloc(fileLength, ';;\n'),
  'line ends only': () => Buffer.alloc(fileLength, '\n'),
  'line ends of Windows only': () => Buffer.alloc(fileLength, '\r\n'),
  'carriage returns only': () => Buffer.alloc(fileLength, '\r'),
  'line ends in a cell': () =>
    Buffer.alloc(fileLength, '\n')
      .fill('"', 0, 1)
      .fill('"', fileLength - 1),
  'blanks only': () => Buffer.alloc(fileLength, ' '),
  'more rows than cards': () => Buffer.alloc(fileLength, 'Betrag,Name\n'),
  NULs: () => Buffer.alloc(fileLength),
  'UTF-8 that is cut': () => Buffer.alloc(fileLength, 'é\n').fill(0xc3, fileLength - 1),
  'bytes of no encoding': () => Buffer.alloc(fileLength, Buffer.from([0x81, 0x8d, 0xff])),
  'UTF-16 with halves of characters': () => Buffer.alloc(fileLength, Buffer.from([0x00, 0xd8])),
};

export type HostileTable = { readonly name: string; readonly bytes: () => Buffer };

export const hostileTables: readonly HostileTable[] = [
  ...Object.entries(workbooks).map(([name, bytes]) => ({ name: `workbook: ${name}`, bytes })),
  ...Object.entries(csvFiles).map(([name, bytes]) => ({ name: `CSV: ${name}`, bytes })),
];
