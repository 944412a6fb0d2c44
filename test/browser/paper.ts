/** The print of a page: a PDF, which poppler turns into words and pictures, and in which a scanner finds its codes. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '../support/chromium.ts';
import { runProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const mmPerInch = 25.4;
/** The resolution of pictures: at least two dots for each module of a barcode. */
const dotsPerInch = 10 * mmPerInch;

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
   * The QR codes and barcodes that a till's scanner reads on a page.
   * @param till the page of a till, which has the detector. @param number counts from 1. @param part default: the lower
   * half, with the code of a sheet.
   */
  readonly scan: (till: Page, number: number, part?: 'half' | 'page') => Promise<readonly PrintedSymbol[]>;
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
    async scan(till, number, part = 'half') {
      const picture = join(folder, `page-${number}`);
      const { widthMm, heightMm } = pages[number - 1] ?? assert.fail(`page ${number}`);
      const topMm = part === 'half' ? heightMm / 2 : 0;
      const [y, width, height] = [topMm, widthMm, heightMm - topMm].map((mm) => String(Math.round(10 * mm)));
      const only = ['-f', String(number), '-l', String(number), '-singlefile'];
      const area = ['-x', '0', '-y', `${y}`, '-W', `${width}`, '-H', `${height}`];
      const format = ['-png', '-gray', '-r', String(dotsPerInch)];
      await poppler('pdftoppm', [...format, ...only, ...area, file, picture]);
      const symbols = await symbolsIn(till, readFileSync(`${picture}.png`).toString('base64'));
      return symbols.map(({ top, bottom, ...rest }) => ({
        ...rest,
        top: top + topMm,
        bottom: bottom + topMm,
      }));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
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
      const [left = 0, top = 0, right = 0, bottom = 0] = box.map((dots) => (dots / dotsPerInch) * mmPerInch);
      return { format, text, left, top, right, bottom };
    })
    .toSorted((one, other) => (one.format < other.format ? -1 : 1));
}
