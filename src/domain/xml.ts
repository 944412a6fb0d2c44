/**
 * The events of an XML document, as spreadsheets write it: without a document type, so that there are no entities to expand
 * and nothing outside of the document is read. Time and memory are linear in its length.
 */

/** The document is not XML, or has what is not read. */
export class MalformedXml extends Error {
  override readonly name = 'MalformedXml';
}

export type XmlEvent =
  | {
      readonly kind: 'open';
      /** Without a prefix. */
      readonly name: string;
      /** The text of the attributes, for `attributeIn`. */
      readonly attributes: string;
    }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

const depthMax = 32;
/** Longer than any tag of a spreadsheet, and than the text of any cell with all its characters as references. */
const tagLengthMax = 10_000;
const textLengthMax = 400_000;

const tag = /<(\/?)(?:[\w.-]{1,64}:)?([\w.-]{1,64})((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;

/** @throws MalformedXml while it is iterated. */
export function* xmlEvents(text: string): Generator<XmlEvent, undefined> {
  const open: string[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const start = text.indexOf('<', at);
    const end = start === -1 ? text.length : start;
    if (end - at > textLengthMax) throw new MalformedXml('has a text that is too long');
    if (end > at && open.length > 0) yield { kind: 'text', text: withoutReferences(text.slice(at, end)) };
    if (start === -1) break;
    if (text.startsWith('<?', start)) at = endOf(text, '?>', start);
    else if (text.startsWith('<!--', start)) at = endOf(text, '-->', start);
    else if (text.startsWith('<![CDATA[', start)) {
      at = endOf(text, ']]>', start);
      yield { kind: 'text', text: text.slice(start + 9, at - 3) };
    } else {
      tag.lastIndex = start;
      // A declaration such as `<!DOCTYPE` is not a tag.
      const [whole, slash = '', name = '', attributes = '', closed = ''] = tag.exec(text) ?? [];
      if (whole === undefined || whole.length > tagLengthMax) throw new MalformedXml('has an unknown tag');
      at = start + whole.length;
      if (slash === '') {
        if (open.length >= depthMax) throw new MalformedXml('is too deep');
        open.push(name);
        yield { kind: 'open', name, attributes };
      }
      if (slash === '' && closed === '') continue;
      if (open.pop() !== name) throw new MalformedXml('has a tag that is not open');
      yield { kind: 'close', name };
    }
  }
  if (open.length > 0) throw new MalformedXml('has a tag that is not closed');
}

function endOf(text: string, mark: string, start: number): number {
  const end = text.indexOf(mark, start);
  if (end === -1) throw new MalformedXml('has a part that is not closed');
  return end + mark.length;
}

/** The value of an attribute, by its name without a prefix; undefined: there is none. */
export function attributeIn(attributes: string, name: string): string | undefined {
  for (const [, key = '', double, single] of attributes.matchAll(
    /\s+([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/gy,
  ))
    if (key === name || key.endsWith(`:${name}`)) return withoutReferences(double ?? single ?? '');
  return undefined;
}

const characters: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

function withoutReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&([^;&]{0,10});?/g, (_, name: string) => {
    const [, hexadecimal, decimal] = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(name) ?? [];
    const point =
      hexadecimal === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hexadecimal, 16);
    const character = point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : characters.get(name);
    if (character === undefined) throw new MalformedXml('has an unknown reference');
    return character;
  });
}
