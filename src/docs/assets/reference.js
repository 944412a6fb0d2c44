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

// Copies a sample without the line breaks of the layout.
for (const code of document.querySelectorAll('pre > code')) {
  const pre = code.parentElement;
  const button = element('<button type="button" class="copy" aria-live="polite">Copy</button>');
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(code.textContent).then(() => {
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 2_000);
    });
  });
  const caption = pre?.parentElement?.querySelector('figcaption');
  if (caption) caption.append(button);
  else if (pre) {
    const block = element('<div class="copied"></div>');
    pre.replaceWith(block);
    block.append(pre, button);
  }
}

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
const loadIndex = () =>
  (index ??= fetch(new URL('search.json', folder)).then((response) => {
    if (!response.ok) throw new Error(`search.json: ${response.status}`);
    return response.json();
  }));

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

/** @param {SearchedSection} section @returns {HTMLElement} */
function resultOf({ url, page, heading, endpoint, text }) {
  const item = element('<li><a><span></span></a><small></small></li>');
  const link = item.querySelector('a');
  if (link) link.href = new URL(url, folder).href;
  const title = item.querySelector('span');
  if (title) title.textContent = heading === '' ? page : `${page}: ${heading}`;
  const note = item.querySelector('small');
  if (note) note.textContent = heading === '' && endpoint !== '' ? endpoint : text.slice(0, 90);
  return item;
}

const navigation = document.querySelector('.side');
const pages = navigation?.querySelector('details');
if (navigation && pages) {
  const form = element(
    '<form role="search"><input type="search" placeholder="Search" aria-label="Search the reference" title="Press / to search" maxlength="100" autocomplete="off" spellcheck="false"></form>',
  );
  const field = form.querySelector('input');
  const results = element('<ul class="results" aria-live="polite"></ul>');
  pages.before(form, results);
  const show = async () => {
    const words = (field?.value ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    pages.hidden = words.length > 0;
    if (words.length === 0) return results.replaceChildren();
    const sections = await loadIndex();
    const found = sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score)
      .slice(0, resultsMax);
    results.replaceChildren(
      ...(found.length > 0
        ? found.map(({ section }) => resultOf(section))
        : [element('<li>Nothing contains all of these words.</li>')]),
    );
  };
  field?.addEventListener('focus', () => void loadIndex());
  field?.addEventListener('input', () => void show());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    results.querySelector('a')?.click();
  });
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field?.focus();
  });
}
