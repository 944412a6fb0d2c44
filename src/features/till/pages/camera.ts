/** The picture of the camera, which reads codes. A script shows it: without one, codes are typed or scanned. */

import { markup, type Markup } from '../../../platform/markup.ts';
import { tillTexts } from './frame.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** The page also needs `usesWebAssembly`. */
export const cameraScripts = ['till.js', 'camera.js'] as const;

/** The form with `data-code` submits the code that the camera reads. */
export function cameraFrame(page: Page): Markup {
  const text = tillTexts(page.request);
  return markup`<div class="scan" id="scan" data-detector="${page.services.frame.assetUrl('barcode-detector.js')}" data-reader="${page.services.frame.assetUrl('zxing-reader.wasm')}" data-denied="${text.cameraDenied}" data-missing="${text.cameraMissing}" data-failed="${text.cameraFailed}" hidden><video id="camera" muted playsinline hidden></video><svg viewBox="0 0 100 100" aria-hidden="true" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M4 22V10a6 6 0 0 1 6-6h12M78 4h12a6 6 0 0 1 6 6v12M96 78v12a6 6 0 0 1-6 6H78M22 96H10a6 6 0 0 1-6-6V78"/><path d="M14 50h72" stroke="#d9b061" stroke-width="2"/></svg><p role="status" data-frame="${text.frame}"></p><button class="button" type="button">${text.camera}</button></div>`;
}
