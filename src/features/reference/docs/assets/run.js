/** The button of a sandbox that sends the request of a sample to this service. A live service does not have this script. */

/** @typedef {import('../content.ts').RunnableRequest} RunnableRequest */

const shownMax = 100_000;
/** Advancing the test clock by years takes minutes. */
const timeoutMs = 600_000;

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/**
 * Sends a request without the cookies of a person, who can be signed in to the pages.
 * @param {Pick<RunnableRequest, 'method' | 'headers'>} request @param {{ path: string, body: string | null }} edited
 */
async function send({ method, headers }, { path, body }) {
  // No path leads to another service.
  const address = `${location.origin}/${path.replace(/^[/]+/, '')}`;
  const response = await fetch(address, {
    ...(body !== null && { body }),
    method,
    headers,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  return { status: response.status, text: indented(text).slice(0, shownMax) };
}

const template = document.createElement('template');
template.innerHTML = `<form class="run">
<label><span></span><input maxlength="2000" spellcheck="false" autocomplete="off" required></label>
<label>Body<textarea maxlength="${shownMax}" spellcheck="false"></textarea></label>
<button>Run in the sandbox</button>
<p role="status"></p>
<pre tabindex="0" aria-label="Response of the sandbox" hidden></pre>
</form>`;

/** @template {Element} Found @param {ParentNode} parent @param {string} name @param {new () => Found} kind */
function part(parent, name, kind) {
  const found = parent.querySelector(name);
  if (!(found instanceof kind)) throw new Error(`no ${name}`);
  return found;
}

/** @param {HTMLElement} figure */
function addForm(figure) {
  const request = /** @type {RunnableRequest} */ (JSON.parse(figure.dataset['run'] ?? ''));
  const form = part(document.importNode(template.content, true), 'form', HTMLFormElement);
  const path = part(form, 'input', HTMLInputElement);
  const body = part(form, 'textarea', HTMLTextAreaElement);
  const button = part(form, 'button', HTMLButtonElement);
  const status = part(form, 'p', HTMLParagraphElement);
  const result = part(form, 'pre', HTMLPreElement);
  part(form, 'span', HTMLSpanElement).textContent = `${request.method}, path and query`;
  path.value = request.path;
  if (request.body === null) body.parentElement?.remove();
  else body.value = request.body;
  body.rows = Math.min(12, body.value.split('\n').length);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    button.disabled = true;
    result.hidden = true;
    status.textContent = 'Running…';
    void send(request, { path: path.value, body: request.body === null ? null : body.value })
      .then(
        ({ status: code, text }) => {
          status.textContent = `Status ${code}`;
          result.textContent = text;
          result.hidden = text === '';
        },
        (/** @type {unknown} */ error) => {
          status.textContent = `No response: ${error instanceof Error ? error.message : String(error)}`;
        },
      )
      .finally(() => {
        button.disabled = false;
      });
  });
  figure.append(form);
  result.dispatchEvent(new Event('code-added', { bubbles: true }));
}

for (const figure of document.querySelectorAll('figure[data-run]'))
  if (figure instanceof HTMLElement) addForm(figure);
