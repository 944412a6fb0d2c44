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

for (const form of document.querySelectorAll('form[data-shrinks]')) {
  const field = form.querySelector('input[type="file"]');
  if (!(form instanceof HTMLFormElement) || !(field instanceof HTMLInputElement)) continue;
  const { bytes = '0', side = '0' } = form.dataset;
  let isReady = false;
  field.addEventListener('change', () => (isReady = false));
  form.addEventListener('submit', (event) => {
    const file = field.files?.[0];
    if (isReady || !file) return;
    event.preventDefault();
    const shrink = async () => {
      const isKept =
        file.size <= Number(bytes) &&
        ['image/png', 'image/jpeg'].includes(file.type) &&
        !(await isTooLong(file, Number(side)));
      const made = isKept ? null : await smaller(file, Number(bytes));
      if (!made) return;
      const files = new DataTransfer();
      files.items.add(made);
      field.files = files.files;
    };
    // A file that is not an image: the page says so.
    void shrink()
      .catch(() => undefined)
      .then(() => {
        isReady = true;
        form.requestSubmit();
      });
  });
}
