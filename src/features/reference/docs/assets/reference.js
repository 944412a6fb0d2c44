/** Search, copy buttons and the chosen language of the API reference. Every page can be read without them. */

/** @typedef {import('../search.ts').SearchedSection} SearchedSection */

const resultsMax = 12;

/** The folder of the pages; the index is next to it. */
const folder = new URL(import.meta.url.replace(/[^/]*$/, ''));

/** @param {string} html a constant text of this file @returns {HTMLElement} */
function element(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  const { firstElementChild } = template.content;
  if (!(firstElementChild instanceof HTMLElement)) throw new Error('not an element');
  return firstElementChild;
}

/**
 * The texts of an element and what it contains.
 * @param {Node} root @returns {Generator<Text>}
 */
function* textsIn(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) if (node instanceof Text) yield node;
}

// The URL of the service is the one of this page.
const { unknownUrl } = document.body.dataset;
if (unknownUrl !== undefined)
  for (const code of document.querySelectorAll('code'))
    for (const text of textsIn(code)) text.data = text.data.replaceAll(unknownUrl, location.origin);

const copyStatus = element('<p class="sr" role="status"></p>');
document.body.append(copyStatus);

/**
 * Copies a text. Without a secure connection, only the person can copy, so the text is selected.
 * @param {Element} code @returns {Promise<boolean>} whether it is copied
 */
async function copyText(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}

/** @param {string} name of the block, for screen readers @param {() => Element | null} find the code */
function copyButton(name, find) {
  const button = element(
    '<button type="button" class="copy"><span>Copy</span><span class="sr"></span></button>',
  );
  const [shown, label] = button.children;
  if (label) label.textContent = ` ${name}`;
  button.addEventListener('click', () => {
    const code = find();
    if (!code || !shown) return;
    void copyText(code).then((isCopied) => {
      shown.textContent = isCopied ? 'Copied' : 'Selected';
      copyStatus.textContent = isCopied ? 'Copied' : 'Selected: copy it with the keyboard';
      setTimeout(() => {
        shown.textContent = 'Copy';
        copyStatus.textContent = '';
      }, 2_000);
    });
  });
  return button;
}

/** Adds a button that copies a block without the line breaks of the layout. @param {Element} pre */
function addCopyButton(pre) {
  const caption = pre.parentElement?.querySelector(':scope > figcaption');
  const name = caption?.textContent ?? pre.getAttribute('aria-label') ?? 'this code';
  const button = copyButton(name, () => pre);
  if (caption) return caption.append(button);
  const block = element('<div class="copied"></div>');
  pre.replaceWith(block);
  block.append(pre, button);
}

for (const pre of document.querySelectorAll('pre')) if (!pre.closest('.languages')) addCopyButton(pre);
// A sample in several languages has one button, for the language that is open.
for (const figure of document.querySelectorAll('figure.languages')) {
  const caption = figure.querySelector('figcaption');
  const button = copyButton(caption?.textContent ?? '', () => figure.querySelector('[open] > pre'));
  caption?.append(button);
  const showButton = () => (button.hidden = figure.querySelector('[open] > pre') === null);
  figure.addEventListener('toggle', showButton, { capture: true });
  showButton();
}
// Blocks that other scripts add.
document.addEventListener('code-added', ({ target }) => {
  if (target instanceof HTMLPreElement) addCopyButton(target);
});

// The language that a reader opens is open on every page.
const languageKey = 'largesse-language';
for (const language of document.querySelectorAll('.languages > details')) {
  if (!(language instanceof HTMLDetailsElement)) continue;
  const name = language.querySelector('summary')?.textContent ?? '';
  if (name === localStorage.getItem(languageKey)) language.open = true;
  language.addEventListener('toggle', () => {
    if (language.open) localStorage.setItem(languageKey, name);
  });
}

/** @type {Promise<readonly SearchedSection[]> | undefined} */
let index;
/** @returns {Promise<readonly SearchedSection[]>} */
async function loadIndex() {
  try {
    return await (index ??= fetch(new URL('search.json', folder)).then((response) => {
      if (!response.ok) throw new Error(`search.json: ${response.status}`);
      return /** @type {Promise<readonly SearchedSection[]>} */ (response.json());
    }));
  } catch (error) {
    // The next input tries again.
    index = undefined;
    throw error;
  }
}

/**
 * The degree to which a section has all words: those of headings and names count more than those of texts. 0: it lacks one.
 * @param {SearchedSection} section @param {readonly string[]} words
 */
function scoreOf({ page, heading, endpoint, names, text }, words) {
  // The title of a page leads to the page and not to each of its sections.
  const weights = /** @type {const} */ ([
    [heading === '' ? page : heading, 8],
    [heading === '' ? endpoint : '', 4],
    [names, 3],
    [text, 1],
  ]);
  let score = 0;
  for (const word of words) {
    const found = weights.find(([part]) => part.toLowerCase().includes(word));
    if (!found && !page.toLowerCase().includes(word)) return 0;
    score += found?.[1] ?? 1;
  }
  return score;
}

/** @param {SearchedSection} section @param {number} place @returns {HTMLElement} */
function resultOf({ url, page, heading, endpoint, text }, place) {
  const item = element(
    '<li role="none"><a role="option" aria-selected="false" tabindex="-1"><span></span><small></small></a></li>',
  );
  const link = item.querySelector('a');
  if (link) {
    link.id = `result-${place}`;
    link.href = new URL(url, folder).href;
  }
  const title = item.querySelector('span');
  if (title) title.textContent = heading === '' ? page : `${page}: ${heading}`;
  const note = item.querySelector('small');
  if (note) note.textContent = heading === '' && endpoint !== '' ? endpoint : text.slice(0, 90);
  return item;
}

const searchPlace = document.querySelector('.search');
const pages = document.querySelector('.side > details');
if (searchPlace && pages instanceof HTMLElement) addSearch(searchPlace, pages);

/** Whether keys are typed into the element. @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}

/** A combobox (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/). @param {Element} place @param {HTMLElement} list of all pages, which results replace */
function addSearch(place, list) {
  const form = element(
    '<form role="search"><input type="search" role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list" aria-keyshortcuts="/" placeholder="Search" aria-label="Search the reference" maxlength="100" autocomplete="off" autocapitalize="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></form>',
  );
  const field = /** @type {HTMLInputElement} */ (form.firstElementChild);
  const status = element('<p class="found" role="status"></p>');
  const results = element(
    '<ul class="results" id="results" role="listbox" aria-label="Results" hidden></ul>',
  );
  place.append(form, status, results);

  const options = () => [...results.querySelectorAll('a')];
  /** @param {Element | undefined} item */
  const select = (item) => {
    for (const each of options()) each.setAttribute('aria-selected', String(each === item));
    if (!item) return field.removeAttribute('aria-activedescendant');
    field.setAttribute('aria-activedescendant', item.id);
    item.scrollIntoView({ block: 'nearest' });
  };
  const show = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    /** @type {readonly SearchedSection[]} */
    let found = [];
    let said = '';
    if (words.length > 0)
      try {
        found = (await loadIndex())
          .map((section) => ({ section, score: scoreOf(section, words) }))
          .filter(({ score }) => score > 0)
          .toSorted((one, other) => other.score - one.score)
          .map(({ section }) => section);
        const few = found.length > resultsMax ? `The first ${resultsMax} of ${found.length} results` : '';
        said = few || (found.length === 1 ? '1 result' : `${found.length} results`);
        if (found.length === 0) said = 'Nothing contains all of these words.';
      } catch {
        said = 'The search cannot be loaded. Type again to retry.';
      }
    results.replaceChildren(...found.slice(0, resultsMax).map(resultOf));
    results.hidden = found.length === 0;
    list.hidden = words.length > 0;
    status.textContent = said;
    field.setAttribute('aria-expanded', String(found.length > 0));
    select(undefined);
  };
  field.addEventListener('focus', () => void loadIndex().catch(() => undefined));
  field.addEventListener('input', () => void show());
  field.addEventListener('keydown', (event) => {
    const items = options();
    const at = items.findIndex((item) => item.getAttribute('aria-selected') === 'true');
    if (event.key === 'Escape') {
      if (field.value === '') return field.blur();
      field.value = '';
      void show();
    } else if (event.key === 'ArrowDown') select(items[at + 1] ?? items[0]);
    else if (event.key === 'ArrowUp') select(items[at - 1] ?? items.at(-1));
    else return;
    event.preventDefault();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const open = () => {
      const items = options();
      (items.find((item) => item.getAttribute('aria-selected') === 'true') ?? items[0])?.click();
    };
    if (options().length > 0) open();
    else void show().then(open);
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}
