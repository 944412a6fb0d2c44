/** A preview follows the fields. Without this script, a button updates it. */

const delayMs = 500;

const form = document.querySelector('form[data-previews]');
const button = document.querySelector('button[formtarget="preview"]');

/** A new frame, because each page in the same frame would be a step for Back. */
function replaceFrame() {
  const frame = document.querySelector('iframe[name="preview"]');
  if (!frame) return;
  const next = /** @type {HTMLIFrameElement} */ (frame.cloneNode());
  next.removeAttribute('src');
  frame.replaceWith(next);
}

/**
 * The preview shows the kind of email whose fields a person opens or fills in.
 * @param {Element} part
 */
function chooseKind(part) {
  const kind = part.closest('[data-kind]');
  const choice = document.querySelector('select[name="kind"]');
  if (kind instanceof HTMLElement && choice instanceof HTMLSelectElement)
    choice.value = kind.dataset['kind'] ?? choice.value;
}

if (form instanceof HTMLFormElement && button instanceof HTMLButtonElement) {
  let timer = 0;
  const update = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      replaceFrame();
      form.requestSubmit(button);
    }, delayMs);
  };
  if (form.dataset['previews'] === 'now') update();
  // A logo that is chosen (`logo.js`) is sent for the preview only.
  const logo = document.querySelector('#logo_preview');
  if (logo instanceof HTMLInputElement) {
    form.addEventListener('submit', ({ submitter }) => (logo.disabled = submitter !== button));
    logo.addEventListener('change', update);
  }
  // The kind of email is outside of the form, and belongs to it.
  document.addEventListener('input', ({ target }) => {
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLSelectElement ||
      target instanceof HTMLTextAreaElement;
    if (!isField || target.form !== form) return;
    chooseKind(target);
    update();
  });
  for (const summary of document.querySelectorAll('[data-kind] > summary')) {
    summary.addEventListener('click', () => {
      const { parentElement } = summary;
      if (!(parentElement instanceof HTMLDetailsElement) || parentElement.open) return;
      chooseKind(summary);
      update();
    });
  }
}

// A browser neither scrolls to a frame that gets the focus nor shows that it has it.
addEventListener('blur', () => {
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLIFrameElement)) return;
  activeElement.dataset['focused'] = '';
  activeElement.scrollIntoView({ block: 'nearest' });
});
addEventListener('focus', () => {
  for (const frame of document.querySelectorAll('iframe')) delete frame.dataset['focused'];
});

/* Whether text on the typed color can be read. The server says it, in words. */

/** @typedef {{ color?: string, isReadable?: boolean, state?: string, text?: string }} Legibility */

/** @param {string} path @returns {Promise<Legibility>} empty: it is not a color, or the server cannot be reached */
async function legibilityOf(path) {
  try {
    const response = await fetch(path);
    return response.ok ? /** @type {Legibility} */ (await response.json()) : {};
  } catch {
    return {};
  }
}

const legibility = document.getElementById('legibility');
const color = document.getElementById('color');
if (legibility && color instanceof HTMLInputElement) {
  let asked = 0;
  color.addEventListener('input', () => {
    // It would be that of another color.
    legibility.replaceChildren();
    asked += 1;
    const own = asked;
    const query = new URLSearchParams({ color: color.value.slice(0, 100) });
    void legibilityOf(`${legibility.dataset['path']}?${query}`).then(
      ({ color: name, isReadable, state = '', text = '' }) => {
        if (own !== asked || name === undefined) return;
        legibility.replaceChildren(
          span(`tag ${isReadable === true ? 'good' : 'bad'}`, state),
          ' ',
          span('code', name),
          ' ',
          span('soft small', text),
        );
      },
    );
  });
}

/** @param {string} className @param {string} text */
function span(className, text) {
  return Object.assign(document.createElement('span'), { className, textContent: text });
}

// The picker of a color fills in the text field, and follows it.
for (const picker of document.querySelectorAll('input[data-picks]')) {
  if (!(picker instanceof HTMLInputElement)) continue;
  const typed = document.getElementById(picker.dataset['picks'] ?? '');
  if (!(typed instanceof HTMLInputElement)) continue;
  picker.hidden = false;
  picker.addEventListener('input', () => {
    typed.value = picker.value;
    typed.dispatchEvent(new InputEvent('input', { bubbles: true }));
  });
  typed.addEventListener('input', () => {
    if (/^#[\da-f]{6}$/i.test(typed.value)) picker.value = typed.value;
  });
}
