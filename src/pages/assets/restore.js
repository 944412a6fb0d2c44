/** “I have a backup”: sends the file in slices, continues where the service has stopped, and waits for its restart. */

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** The waits after a failed slice, in ms. */
const waits = [1_000, 2_000, 5_000, 10_000, 10_000];

/**
 * Sends one request, again after errors of the connection and of the service.
 * @param {string} url @param {RequestInit} options
 * @returns {Promise<{ next?: number, problem?: string }>}
 */
async function ask(url, options) {
  for (const wait of [...waits, null]) {
    try {
      const response = await fetch(url, { method: 'POST', redirect: 'error', ...options });
      if (response.ok) return /** @type {{ next?: number, problem?: string }} */ (await response.json());
    } catch {
      // The connection was lost.
    }
    if (wait === null) break;
    await pause(wait);
  }
  throw new Error('no response');
}

/** @param {HTMLFormElement} form @param {File} file @param {HTMLProgressElement} bar */
async function send(form, file, bar) {
  const { upload = '', slice = '', bytes, next: continued = '0' } = form.dataset;
  const length = Number(slice);
  let next = Number(continued);
  if (bytes !== String(file.size)) {
    const begun = await ask(`${upload}/begin`, { body: new URLSearchParams({ bytes: String(file.size) }) });
    if (begun.problem) return begun.problem;
    next = 0;
  }
  while (next * length < file.size) {
    bar.value = (100 * next * length) / file.size;
    const body = file.slice(next * length, (next + 1) * length);
    const headers = { 'content-type': 'application/octet-stream' };
    const sent = await ask(`${upload}/slices/${next}`, { body, headers });
    if (sent.problem || sent.next === undefined) return sent.problem ?? '';
    next = sent.next;
  }
  return undefined;
}

const sending = document.querySelector('form[data-upload]');
if (sending instanceof HTMLFormElement)
  sending.addEventListener('submit', (event) => {
    event.preventDefault();
    void sendChosen(sending);
  });

/** @param {HTMLFormElement} form */
async function sendChosen(form) {
  const input = form.querySelector('input[type=file]');
  const bar = form.querySelector('progress');
  const button = form.querySelector('button');
  const status = form.querySelector('[role=status]');
  const file = input instanceof HTMLInputElement ? input.files?.[0] : undefined;
  if (!file || !bar || !button || !status) return;
  button.disabled = true;
  bar.hidden = false;
  status.textContent = '';
  try {
    const problem = await send(form, file, bar);
    if (problem === undefined) location.reload();
    else status.textContent = problem;
  } catch {
    status.textContent = form.dataset['failed'] ?? '';
  }
  button.disabled = false;
}

const restarting = document.querySelector('[data-restarting]');
if (restarting instanceof HTMLElement) {
  const url = restarting.dataset['restarting'] ?? '/';
  for (;;) {
    await pause(1_000);
    try {
      // Before the restart, no person can sign in.
      const response = await fetch(url);
      if (response.ok && new URL(response.url).pathname.endsWith('/sign-in')) break;
    } catch {
      // The service starts.
    }
  }
  location.replace(url);
}
