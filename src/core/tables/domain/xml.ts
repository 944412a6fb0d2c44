/**
 * The events of an XML document, as spreadsheets write it: without a document type, so that there are no entities to expand
 * and nothing outside of the document is read. The document is read in parts, of which a window is in memory. Time is linear
 * in its length, and lengths are limited before anything is matched.
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
  /** A text can be several events. */
  | { readonly kind: 'text'; readonly text: string };

const depthMax = 32;
/** Longer than any tag of a spreadsheet, and than the text of any cell as a CDATA section: 32,767 characters. */
const markupLengthMax = 40_000;
/** The tags of 10,000 rows of 64 cells with inline texts are 3.9 million. */
const markupsMax = 4_000_000;
/** With the characters around it. */
const referenceLengthMax = 12;
/** All characters of a format code as references have 2,550. */
const attributeLengthMax = 4_000;

const tag =
  /<(\/?)(?:[\w.-]{1,64}:)?([\w.-]{1,64})((?:\s+[\w.:-]{1,128}\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,64})\s*(\/?)>/y;

/** The part of a document that is in memory. */
class TextWindow {
  readonly #parts: Iterator<string>;
  #isComplete = false;
  text = '';
  /** The index of the first character that is not read. */
  at = 0;

  constructor(parts: Iterable<string>) {
    this.#parts = parts[Symbol.iterator]();
  }

  /** Reads on until the longest markup fits. @returns whether there is text. */
  fill(): boolean {
    while (!this.#isComplete && this.text.length - this.at < markupLengthMax) {
      const part = this.#parts.next();
      if (part.done === true) this.#isComplete = true;
      else [this.text, this.at] = [this.text.slice(this.at) + part.value, 0];
    }
    return this.at < this.text.length;
  }

  /** The text up to the next markup, or the part of it that has no half of a reference. */
  takeText(): string {
    const start = this.text.indexOf('<', this.at);
    let end = start === -1 ? this.text.length : start;
    if (start === -1 && !this.#isComplete) {
      const reference = this.text.lastIndexOf('&');
      if (reference >= end - referenceLengthMax) end = reference;
    }
    const taken = this.text.slice(this.at, end);
    this.at = end;
    return taken;
  }

  startsWith(mark: string): boolean {
    return this.text.startsWith(mark, this.at);
  }

  /** The text between two marks. @throws MalformedXml if it is too long, or not closed. */
  takeBetween(first: string, last: string): string {
    const start = this.at + first.length;
    const end = this.text.indexOf(last, start);
    if (end === -1 || end - start > markupLengthMax) throw new MalformedXml('has a part that is not closed');
    this.at = end + last.length;
    return this.text.slice(start, end);
  }

  /** The groups of a tag. @throws MalformedXml if there is none, or it is too long. */
  takeTag(): RegExpExecArray {
    tag.lastIndex = this.at;
    const match = tag.exec(this.text);
    // A declaration such as `<!DOCTYPE` is not a tag.
    if (!match || match[0].length > markupLengthMax) throw new MalformedXml('has an unknown tag');
    this.at += match[0].length;
    return match;
  }
}

/** @param parts of a document, in any lengths. @throws MalformedXml while it is iterated. */
export function* xmlEvents(parts: Iterable<string>): Generator<XmlEvent, undefined> {
  const window = new TextWindow(parts);
  const open: string[] = [];
  let markups = 0;
  while (window.fill()) {
    if (!window.startsWith('<')) {
      const text = window.takeText();
      if (open.length > 0) yield { kind: 'text', text: withoutReferences(text) };
      continue;
    }
    markups += 1;
    if (markups > markupsMax) throw new MalformedXml('has too many tags');
    if (window.startsWith('<?')) window.takeBetween('<?', '?>');
    else if (window.startsWith('<!--')) window.takeBetween('<!--', '-->');
    else if (window.startsWith('<![CDATA[')) {
      yield { kind: 'text', text: window.takeBetween('<![CDATA[', ']]>') };
    } else {
      const [, slash = '', name = '', attributes = '', closed = ''] = window.takeTag();
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

/**
 * The value of an attribute, by its name without a prefix; undefined: there is none.
 * @throws MalformedXml if it is too long, or has an unknown reference.
 */
export function attributeIn(attributes: string, name: string): string | undefined {
  // Most tags do not have most attributes.
  if (!attributes.includes(name)) return undefined;
  for (const [, key = '', double, single] of attributes.matchAll(
    /\s+([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/gy,
  ))
    if (key === name || key.endsWith(`:${name}`)) {
      const value = double ?? single ?? '';
      if (value.length > attributeLengthMax) throw new MalformedXml('has an attribute that is too long');
      return withoutReferences(value);
    }
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
  let at = text.indexOf('&');
  if (at === -1) return text;
  const parts: string[] = [];
  let copied = 0;
  for (; at !== -1; at = text.indexOf('&', copied)) {
    const end = text.indexOf(';', at);
    if (end === -1 || end - at > referenceLengthMax) throw new MalformedXml('has an unknown reference');
    parts.push(text.slice(copied, at), characterOf(text.slice(at + 1, end)));
    copied = end + 1;
  }
  parts.push(text.slice(copied));
  return parts.join('');
}

/** @throws MalformedXml if the reference is unknown. */
function characterOf(name: string): string {
  const [, hexadecimal, decimal] = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(name) ?? [];
  const point = hexadecimal === undefined ? Number(decimal ?? Number.NaN) : Number.parseInt(hexadecimal, 16);
  const character = point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : characters.get(name);
  if (character === undefined) throw new MalformedXml('has an unknown reference');
  return character;
}
