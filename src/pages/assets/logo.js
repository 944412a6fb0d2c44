/** Makes a large logo smaller before it is sent. Without this script, the page says what is accepted. */

/** The sides that are tried, in pixels: emails show a logo with a few hundred. */
const sides = [1_200, 800, 600, 400, 300];
const jpegQuality = 0.85;

/**
 * The image with a longest side, as a file of the type.
 * @param {ImageBitmap} image @param {number} side @param {string} type @returns {Promise<Blob | null>}
 */
function resized(image, side, type) {
  const scale = Math.min(1, side / Math.max(image.width, image.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const context = canvas.getContext('2d');
  if (!context) return Promise.resolve(null);
  if (type === 'image/jpeg') {
    // It has no transparent parts, which would become black.
    context.fillStyle = '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const { promise, resolve } = Promise.withResolvers();
  canvas.toBlob(resolve, type, jpegQuality);
  return promise;
}

/**
 * The largest version that is accepted: a PNG, which keeps transparent parts, unless it is a photo; null: there is none.
 * @param {File} file @param {number} bytesMax @returns {Promise<File | null>}
 */
async function smaller(file, bytesMax) {
  const image = await createImageBitmap(file);
  const types = file.type === 'image/jpeg' ? ['image/jpeg'] : ['image/png', 'image/jpeg'];
  const name = file.name.replace(/\.\w+$/, '');
  for (const type of types) {
    for (const side of sides) {
      const blob = await resized(image, side, type);
      if (blob && blob.size <= bytesMax) return new File([blob], `${name}.${type.slice(6)}`, { type });
    }
  }
  return null;
}

/** @param {File} file @param {number} sideMax */
async function isTooLong(file, sideMax) {
  const { width, height } = await createImageBitmap(file);
  return Math.max(width, height) > sideMax;
}

/**
 * The file that is sent: the chosen one, if it is accepted, or a smaller one; null: it is not an image.
 * @param {File} file @param {{ readonly bytes: number, readonly side: number }} max @returns {Promise<File | null>}
 */
async function accepted(file, max) {
  try {
    const isKept =
      file.size <= max.bytes &&
      ['image/png', 'image/jpeg'].includes(file.type) &&
      !(await isTooLong(file, max.side));
    return isKept ? file : await smaller(file, max.bytes);
  } catch {
    return null;
  }
}

/** @param {File} file @returns {Promise<string>} its bytes as base64 digits */
async function base64Of(file) {
  const reader = new FileReader();
  const { promise, resolve, reject } = Promise.withResolvers();
  reader.addEventListener('load', resolve);
  reader.addEventListener('error', reject);
  reader.readAsDataURL(file);
  await promise;
  return typeof reader.result === 'string' ? reader.result.replace(/^[^,]*,/, '') : '';
}

for (const form of document.querySelectorAll('form[data-shrinks]')) {
  const field = form.querySelector('input[type="file"]');
  if (!(form instanceof HTMLFormElement) || !(field instanceof HTMLInputElement)) continue;
  const max = { bytes: Number(form.dataset['bytes']), side: Number(form.dataset['side']) };
  let isReady = false;
  /** @type {Promise<File | null> | undefined} */
  let made;
  const makeFile = () => {
    const file = field.files?.[0];
    return (made ??= file ? accepted(file, max) : Promise.resolve(null));
  };
  field.addEventListener('change', () => {
    isReady = false;
    made = undefined;
    void showPreview();
  });
  // The preview of the page shows the logo before it is uploaded.
  const preview = document.querySelector('#logo_preview');
  const showPreview = async () => {
    if (!(preview instanceof HTMLInputElement)) return;
    const own = makeFile();
    const file = await own;
    const digits = file ? await base64Of(file).catch(() => '') : '';
    // Another file can be chosen since.
    if (own !== made) return;
    preview.value = digits;
    preview.dispatchEvent(new Event('change'));
  };
  form.addEventListener('submit', (event) => {
    const chosen = field.files?.[0];
    if (isReady || !chosen) return;
    event.preventDefault();
    // A file that is not an image: the page says so.
    void makeFile().then((file) => {
      if (file && file !== chosen) {
        const files = new DataTransfer();
        files.items.add(file);
        field.files = files.files;
      }
      isReady = true;
      form.requestSubmit();
    });
  });
}
