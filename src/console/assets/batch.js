/** Reads a chosen or dropped file into the field for its text. Without this script, the text is pasted. */

/** The text is sent in a form, in which some characters take three bytes. */
const bytesMax = 2_000_000;

for (const part of document.querySelectorAll('[data-file-of]')) {
  if (!(part instanceof HTMLElement)) continue;
  const area = document.getElementById(part.dataset['fileOf'] ?? '');
  const input = part.querySelector('input');
  const error = part.querySelector('.error');
  if (!(area instanceof HTMLTextAreaElement) || !input || !(error instanceof HTMLElement)) continue;
  /** @param {File} file */
  const read = async (file) => {
    error.hidden = true;
    try {
      if (file.size > bytesMax) throw new RangeError('The file is too large.');
      area.value = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      error.hidden = false;
    }
  };
  // A browser also drops a file into the input.
  input.addEventListener('change', () => {
    const [file] = input.files ?? [];
    if (file) void read(file);
  });
  part.hidden = false;
}
