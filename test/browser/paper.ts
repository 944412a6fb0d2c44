/** The print of a page: a PDF, which poppler turns into words and pictures, in which two independent decoders find its codes. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '../support/chromium.ts';
import { runProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const mmPerInch = 25.4;
/** The resolution of thermal printers, called 203 dots per inch. Each dot is black or white. */
const dotsPerMm = 8;

/** A rectangle on a page in mm, from its upper left corner. */
export type Box = {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
};

type Word = Box & { readonly text: string };

export type PaperPage = {
  readonly widthMm: number;
  readonly heightMm: number;
  readonly words: readonly Word[];
};

type PrintedSymbol = Box & { readonly format: string; readonly text: string };

export type Paper = Disposable & {
  readonly pages: readonly PaperPage[];
  /**
   * The QR codes and barcodes that a till's scanner reads on a page, which are those that ZBar reads.
   * @param till the page of a till, which has the detector. @param number counts from 1. @param part default: the page.
   */
  readonly scan: (till: Page, number: number, part?: Box) => Promise<readonly PrintedSymbol[]>;
};

async function poppler(program: string, args: readonly string[]): Promise<string> {
  const { code, output, errors } = await runProgram(program, args);
  assert.equal(code, 0, `${program}: ${errors}`);
  return output;
}

function numberOf(tag: string, name: string): number {
  const [, value] = new RegExp(` ${name}="([\\d.-]+)"`).exec(tag) ?? [];
  return Number(value ?? assert.fail(`${name} of ${tag}`)) * (mmPerInch / 72);
}

function wordsIn(text: string): readonly Word[] {
  return Array.from(text.matchAll(/(<word [^>]*>)([^<]*)<\/word>/g), ([, tag = '', word = '']) => ({
    text: word,
    left: numberOf(tag, 'xMin'),
    top: numberOf(tag, 'yMin'),
    right: numberOf(tag, 'xMax'),
    bottom: numberOf(tag, 'yMax'),
  }));
}

/** Prints a page as its own styles say. */
export async function printed(page: Page): Promise<Paper> {
  const folder = makeScratchFolder('paper-');
  const file = join(folder, 'paper.pdf');
  writeFileSync(file, await page.pdf({ preferCSSPageSize: true, printBackground: true }));
  const boxes = await poppler('pdftotext', ['-bbox', file, '-']);
  const pages = Array.from(
    boxes.matchAll(/(<page [^>]*>)([\s\S]*?)<\/page>/g),
    ([, tag = '', text = '']) => ({
      widthMm: numberOf(tag, 'width'),
      heightMm: numberOf(tag, 'height'),
      words: wordsIn(text),
    }),
  );
  return {
    pages,
    async scan(till, number, part) {
      const picture = join(folder, 'part');
      const { widthMm, heightMm } = pages[number - 1] ?? assert.fail(`page ${number}`);
      const { left, top, right, bottom } = part ?? { left: 0, top: 0, right: widthMm, bottom: heightMm };
      const area = [left, top, right - left, bottom - top].map((mm) => String(Math.round(dotsPerMm * mm)));
      const mode = ['-png', '-mono', '-r', String(dotsPerMm * mmPerInch)];
      const only = ['-f', String(number), '-l', String(number), '-singlefile'];
      const cut = ['-x', '-y', '-W', '-H'].flatMap((name, index) => [name, area[index] ?? '']);
      await poppler('pdftoppm', [...mode, ...only, ...cut, file, picture]);
      const symbols = await symbolsIn(till, readFileSync(`${picture}.png`).toString('base64'));
      const read = symbols.map(({ format, text }) => `${format} ${text}`);
      assert.deepEqual(await zbarSymbolsIn(`${picture}.png`), read.toSorted(), 'both decoders read the same');
      return symbols.map((symbol) => ({
        ...symbol,
        left: symbol.left + left,
        right: symbol.right + left,
        top: symbol.top + top,
        bottom: symbol.bottom + top,
      }));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const zbarFormats: Readonly<Record<string, string>> = { 'QR-Code': 'qr_code', 'CODE-128': 'code_128' };

/** The symbols that ZBar reads, in the order of their texts. It shares no code with the detector of the till. */
async function zbarSymbolsIn(file: string): Promise<readonly string[]> {
  const { code, output, errors } = await runProgram('zbarimg', ['--quiet', '--nodbus', file]);
  // 4: it has found no symbol.
  assert.ok(code === 0 || code === 4, errors);
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^[^:]*/, (format) => zbarFormats[format] ?? format).replace(':', ' '))
    .toSorted();
}

type Detector = {
  detect(
    source: ImageBitmap,
  ): Promise<
    readonly { readonly format: string; readonly rawValue: string; readonly boundingBox: DOMRectReadOnly }[]
  >;
};
type Packaged = {
  readonly BarcodeDetector: new (options: { readonly formats: readonly string[] }) => Detector;
  readonly prepareZXingModule: (options: { readonly overrides: { locateFile(): string } }) => unknown;
};

async function symbolsIn(till: Page, base64: string): Promise<readonly PrintedSymbol[]> {
  const found = await till.evaluate(async (encoded) => {
    const { detector = '', reader = '' } = document.getElementById('scan')?.dataset ?? {};
    const { BarcodeDetector, prepareZXingModule } = (await import(detector)) as Packaged;
    prepareZXingModule({ overrides: { locateFile: () => reader } });
    const bytes = Uint8Array.from(atob(encoded), (symbol) => symbol.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const symbols = await new BarcodeDetector({ formats: ['qr_code', 'code_128'] }).detect(image);
    return symbols.map(({ format, rawValue, boundingBox: { left, top, right, bottom } }) => ({
      format,
      text: rawValue,
      box: [left, top, right, bottom],
    }));
  }, base64);
  return found
    .map(({ format, text, box }) => {
      const [left = 0, top = 0, right = 0, bottom = 0] = box.map((dots) => dots / dotsPerMm);
      return { format, text, left, top, right, bottom };
    })
    .toSorted((one, other) => (one.format < other.format ? -1 : 1));
}
