/** A picture of the card for the photos of a phone: its symbols, code and expiry. It has no amount, which changes. */

const [width, height] = [1080, 1440];
const middle = width / 2;

/**
 * Paints a symbol with whole pixels for each of its modules, centered.
 * @param {CanvasRenderingContext2D} context @param {Element | null | undefined} symbol
 * @param {{ top: number, widthMax: number, height?: number }} place the height of a barcode; a QR code has its width
 * @returns {number} its lower edge
 */
function paintSymbol(context, symbol, { top, widthMax, height: barHeight }) {
  const [, , columns = 0, rows = 0] = (symbol?.getAttribute('viewBox') ?? '').split(' ').map(Number);
  if (columns === 0) return top;
  const scale = Math.floor(widthMax / columns);
  const scaleY = barHeight === undefined ? scale : barHeight / rows;
  context.save();
  context.translate(Math.round((width - columns * scale) / 2), top);
  context.scale(scale, scaleY);
  for (const path of symbol?.querySelectorAll('path[stroke]') ?? []) {
    context.lineWidth = Number(path.getAttribute('stroke-width') ?? 1);
    context.stroke(new Path2D(path.getAttribute('d') ?? ''));
  }
  context.restore();
  return top + rows * scaleY;
}

/** @param {string} selector */
function textOf(selector) {
  return document.querySelector(selector)?.textContent?.trim() ?? '';
}

/** @returns {Promise<Blob | null>} */
async function paint() {
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { alpha: false });
  if (!context) return null;
  await document.fonts.ready;
  Object.assign(canvas, { width, height });
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#000';
  context.textAlign = 'center';
  const { direction, fontFamily } = getComputedStyle(document.body);
  /** @param {string} text @param {{ y: number, size: number, font?: string, dir?: string }} style */
  const write = (text, { y, size, font = fontFamily, dir = direction }) => {
    context.direction = dir === 'rtl' ? 'rtl' : 'ltr';
    context.font = `600 ${size}px ${font}`;
    context.fillText(text, middle, y, width - 120);
  };
  const full = document.getElementById('full');
  write(textOf('.shopbar .shopname'), { y: 110, size: 56 });
  const below = paintSymbol(context, full?.querySelector('svg'), { top: 180, widthMax: 720 });
  write(textOf('#shown-code'), { y: below + 100, size: 56, font: 'ui-monospace, monospace', dir: 'ltr' });
  const end = paintSymbol(context, full?.querySelector('.barcode'), {
    top: below + 140,
    widthMax: 960,
    height: 120,
  });
  write(textOf('#valid-until'), { y: end + 90, size: 36 });
  const { page = '' } = document.getElementById('recipient')?.dataset ?? {};
  write(location.host + page, { y: end + 150, size: 36, dir: 'ltr' });
  return await new Promise((resolve) => {
    canvas.toBlob(resolve, 'image/png');
  });
}

/** Lets the browser save the picture. */
export async function saveImage() {
  const blob = await paint();
  if (!blob) return;
  const href = URL.createObjectURL(blob);
  const download = `${document.title.replaceAll(/[\\/:*?"<>|]/g, ' ').trim()}.png`;
  Object.assign(document.createElement('a'), { href, download }).click();
  // The browser reads the picture after the click.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
