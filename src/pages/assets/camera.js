/**
 * Reads a code from the camera. It starts when the button is pressed, or by itself on a device whose last code came from the
 * camera, and ends with the first code.
 */

/** @typedef {{ detect(source: HTMLVideoElement): Promise<readonly { readonly rawValue: string }[]> }} Detector */
/** @typedef {{ new (options: { formats: string[] }): Detector, getSupportedFormats(): Promise<string[]> }} Detectors */
/** @typedef {{ BarcodeDetector: Detectors, prepareZXingModule(options: { overrides: { locateFile(): string } }): unknown }} Packaged */

const formats = ['qr_code', 'code_128', 'code_39', 'ean_13', 'data_matrix', 'itf', 'pdf417', 'aztec'];
const periodMs = 120;

/** The detector of the browser, or the packaged one. @param {DOMStringMap} urls @returns {Promise<Detector>} */
async function openDetector({ detector = '', reader = '' }) {
  const own = /** @type {{ readonly BarcodeDetector?: Detectors }} */ (/** @type {unknown} */ (globalThis))
    .BarcodeDetector;
  const supported = (await own?.getSupportedFormats().catch(() => [])) ?? [];
  if (own && supported.includes('qr_code'))
    return new own({ formats: formats.filter((format) => supported.includes(format)) });
  const packaged = /** @type {Packaged} */ (await import(detector));
  packaged.prepareZXingModule({ overrides: { locateFile: () => reader } });
  return new packaged.BarcodeDetector({ formats });
}

/** @param {unknown} error @param {DOMStringMap} texts */
function textOf(error, { denied = '', missing = '', failed = '' }) {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError' || name === 'SecurityError') return denied;
  return name === 'NotFoundError' || name === 'OverconstrainedError' ? missing : failed;
}

const usedName = 'largesse-till-camera';

/** @param {boolean} isUsed whether the next page starts the camera by itself. */
function setUsed(isUsed) {
  try {
    if (isUsed) localStorage.setItem(usedName, 'yes');
    else localStorage.removeItem(usedName);
  } catch {
    // Without storage, it starts by the button.
  }
}

/** Whether the last code came from the camera, and the browser starts it without a question. */
async function wasUsed() {
  try {
    if (localStorage.getItem(usedName) === null) return false;
    return (await navigator.permissions.query({ name: 'camera' })).state === 'granted';
  } catch {
    return false;
  }
}

const scan = document.getElementById('scan');
const video = document.getElementById('camera');
const form = document.querySelector('form[data-code]');
const code = form?.querySelector('.code');
const button = scan?.querySelector('button');
const status = scan?.querySelector('p');

/** @param {HTMLElement} frame @param {HTMLVideoElement} picture */
async function readCode(frame, picture) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  const stop = () => {
    for (const track of stream.getTracks()) track.stop();
  };
  try {
    picture.srcObject = stream;
    picture.hidden = false;
    await picture.play();
    const detector = await openDetector(frame.dataset);
    while (stream.active) {
      const [found] = await detector.detect(picture);
      if (found && found.rawValue !== '') return found.rawValue;
      const { promise, resolve } = Promise.withResolvers();
      setTimeout(resolve, periodMs);
      await promise;
    }
    throw new DOMException('the camera was switched off', 'AbortError');
  } finally {
    stop();
    picture.hidden = true;
    picture.srcObject = null;
  }
}

if (
  scan &&
  button &&
  status &&
  video instanceof HTMLVideoElement &&
  form instanceof HTMLFormElement &&
  code instanceof HTMLInputElement
) {
  // Browsers have no camera on pages that are not encrypted.
  scan.hidden = !('mediaDevices' in navigator);
  const start = () => {
    button.hidden = true;
    status.textContent = status.dataset['frame'] ?? '';
    readCode(scan, video).then(
      (text) => {
        setUsed(true);
        code.value = text;
        form.requestSubmit();
      },
      (/** @type {unknown} */ error) => {
        setUsed(false);
        status.textContent = textOf(error, scan.dataset);
        button.hidden = false;
        code.focus();
      },
    );
  };
  button.addEventListener('click', start);
  void wasUsed().then((isUsed) => isUsed && start());
}
