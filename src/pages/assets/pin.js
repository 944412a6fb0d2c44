/** The keypad of a field with digits. The field works without it. */

import { takeLinked } from './till-link.js';

// The register has opened the till before a person unlocked it.
takeLinked();

for (const pad of document.querySelectorAll('[data-pad]')) {
  if (!(pad instanceof HTMLElement)) continue;
  const field = document.getElementById(pad.dataset['pad'] ?? '');
  if (!(field instanceof HTMLInputElement)) continue;
  pad.hidden = false;
  pad.addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    const { digit } = target.dataset;
    field.value = digit === undefined ? field.value.slice(0, -1) : field.value + digit;
  });
}
