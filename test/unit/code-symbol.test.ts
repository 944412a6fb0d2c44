import assert from 'node:assert/strict';
import test from 'node:test';
import {
  barcodeOf,
  barcodeOfText,
  qrModulesOfText,
  type Barcode,
} from '../../src/core/cards/domain/symbol.ts';
import { codeAlphabet } from '../../src/core/cards/domain/code.ts';
import { Secret } from '../../src/platform/secret.ts';
import { terminalQr } from '../../src/start/terminal-qr.ts';

/** Widths of bars and spaces, in turn, without the margins. */
function widthsOf({ width, bars }: Barcode): readonly number[] {
  return bars.flatMap((bar, index) => {
    const next = bars[index + 1]?.at ?? width - 10;
    return index === bars.length - 1 ? [bar.width] : [bar.width, next - bar.at - bar.width];
  });
}

test('the barcode of a code has the bars that a decoder has read', () => {
  const barcode = barcodeOf(new Secret('abcd1234'));
  assert.equal(barcode.width, 143);
  assert.equal(barcode.bars[0]?.at, 10);
  // Start B, A, B, C, D, 1, 2, 3, 4, check symbol, stop; zxing-cpp decodes it as ABCD1234.
  assert.match(
    widthsOf(barcode).join(''),
    /^211214111323131123131321112313123221223211221132221231\d{6}2331112$/,
  );
});

test('two digits are one symbol of a barcode, if all are digits and their number is even', () => {
  // Start C, 12, 34, check symbol, stop.
  assert.equal(widthsOf(barcodeOfText('1234')).join(''), '2112321122321311231212412331112');
  for (const [text, symbols] of [
    ['12345678', 4],
    ['123456789', 9],
    ['1234567A', 8],
  ] as const)
    assert.equal(barcodeOfText(text).width, 11 * (symbols + 2) + 13 + 20, text);
});

test('a terminal shows the modules of a link as half blocks, in colors of its own', () => {
  const link = 'https://cards.flowers.example/setup/lgf_0123456789';
  const modules = qrModulesOfText(link, { isForScreen: true });
  const lines = terminalQr(link).trimEnd().split('\n');
  assert.equal(lines.length, Math.ceil(modules.length / 2));
  assert.ok(lines.length <= 23, 'all of it fits a small terminal');
  const shown = lines.flatMap((line) => {
    assert.ok(line.startsWith('\u001b[30;107m') && line.endsWith('\u001b[0m'), line);
    const blocks = line.slice('\u001b[30;107m'.length, -'\u001b[0m'.length);
    assert.match(blocks, /^[ ▀▄█]+$/);
    return ['▀█', '▄█'].map((dark) => Array.from(blocks, (block) => dark.includes(block)));
  });
  assert.deepEqual(shown.slice(0, modules.length), modules);
});

test('every symbol of a code has bars and spaces of eleven modules, and the margins stay light', () => {
  for (const symbol of codeAlphabet) {
    const barcode = barcodeOf(new Secret(symbol.repeat(20)));
    const widths = widthsOf(barcode);
    assert.equal(barcode.width, 11 * (/\d/.test(symbol) ? 12 : 22) + 13 + 20, symbol);
    for (let at = 0; at + 6 < widths.length; at += 6) {
      const pattern = widths.slice(at, at + 6);
      assert.equal(
        pattern.reduce((sum, width) => sum + width, 0),
        11,
        symbol,
      );
      // The bars of a symbol of Code 128 are an even number of modules wide.
      assert.equal(((pattern[0] ?? 0) + (pattern[2] ?? 0) + (pattern[4] ?? 0)) % 2, 0, symbol);
    }
  }
});
