/** What all pages share. Every page works without it. */

// A form is submitted once: further clicks do nothing until the next page. The server rejects repetitions as well.
/** @type {WeakSet<EventTarget>} */
const submitted = new WeakSet();
addEventListener('submit', (event) => {
  const { target } = event;
  if (event.defaultPrevented || !(target instanceof HTMLFormElement)) return;
  // A form that stores a file does not leave the page.
  if (target.dataset['repeatable'] !== undefined) return;
  // A button that shows the form in a frame does not leave the page either.
  if (event.submitter instanceof HTMLButtonElement && event.submitter.formTarget !== '') return;
  if (submitted.has(target)) event.preventDefault();
  submitted.add(target);
});
// Back shows the form again.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

/** Buttons that need this script are hidden without it. @param {string} selector @param {(button: HTMLElement) => void} act */
function addButtons(selector, act) {
  for (const button of document.querySelectorAll(selector)) {
    if (!(button instanceof HTMLElement)) continue;
    button.hidden = false;
    button.addEventListener('click', () => act(button));
  }
}

// Copies the text of the element with the id.
addButtons('[data-copy]', (button) => {
  const { copy = '', copied = '' } = button.dataset;
  const text = document.getElementById(copy)?.textContent?.trim() ?? '';
  void navigator.clipboard.writeText(text).then(() => {
    button.textContent = copied;
  });
});

addButtons('[data-print]', () => {
  print();
});
