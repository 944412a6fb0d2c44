/** The script of all pages. Every page works without it. */

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
  // A field of the form can be named `action`.
  if (target.getAttribute('action')?.endsWith('/sign-out') === true) forgetCards();
});
/** Forgets the codes that the page of recipients keeps in this tab. */
function forgetCards() {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith('largesse-card ')) sessionStorage.removeItem(name);
}

// Back shows the form again.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

/** @param {ParentNode} parent @param {string} selector @param {(button: HTMLElement) => void} act */
function addButtons(parent, selector, act) {
  for (const button of parent.querySelectorAll(selector)) {
    if (!(button instanceof HTMLElement)) continue;
    button.hidden = false;
    button.addEventListener('click', () => act(button));
  }
}

/** Shows the buttons that need this script, which are hidden without it. @param {ParentNode} parent */
export function prepareButtons(parent) {
  // Copies the text of the element with the id.
  addButtons(parent, '[data-copy]', (button) => {
    const { copy = '', copied = '' } = button.dataset;
    const text = document.getElementById(copy)?.textContent?.trim() ?? '';
    void navigator.clipboard.writeText(text).then(() => {
      (button.querySelector('span') ?? button).textContent = copied;
    });
  });
  addButtons(parent, '[data-print]', () => {
    print();
  });
  // The script of its page saves it.
  addButtons(parent, '[data-image]', () => {});
}

prepareButtons(document);

// The page of a receipt is as long as the receipt: without this script, it has a fixed length.
const receipt = document.querySelector('.receipt');
if (receipt) {
  const size = new CSSStyleSheet();
  document.adoptedStyleSheets.push(size);
  addEventListener('beforeprint', () => {
    receipt.classList.add('measured');
    const { width, height } = receipt.getBoundingClientRect();
    receipt.classList.remove('measured');
    const rule = `{ size: ${width}px ${Math.ceil(height) + 1}px }`;
    size.replaceSync(`@page receipt ${rule} @page narrow ${rule}`);
  });
}
