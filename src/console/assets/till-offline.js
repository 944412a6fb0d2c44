/** The page without a connection: it tries again until the service responds. */

const periodMs = 3_000;
const timeoutMs = 4_000;

const content = document.querySelector('main[data-page]');
const state = document.getElementById('state');
const again = document.getElementById('again');

if (content instanceof HTMLElement && state && again) {
  // A form was sent when the connection was lost. The page stays, because it says that the result is unknown.
  const wasSent = content.dataset['sent'] !== undefined;
  for (const part of content.querySelectorAll('[data-when]'))
    if (part instanceof HTMLElement) part.hidden = (part.dataset['when'] === 'sent') !== wasSent;
  if (wasSent)
    document.title = document.querySelector('[data-when="sent"] h2')?.textContent ?? document.title;

  const { page = '', next = '' } = content.dataset;
  const { trying = '', back = '' } = state.dataset;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const isReachable = async () => {
    try {
      const response = await fetch(page, { cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
      return response.ok;
    } catch {
      return false;
    }
  };
  const attempt = async () => {
    clearTimeout(timer);
    state.textContent = trying;
    if (!(await isReachable())) timer = setTimeout(() => void attempt(), periodMs);
    else if (wasSent) state.textContent = back;
    else location.reload();
  };
  again.addEventListener('click', () => {
    if (wasSent) location.assign(next);
    else void attempt();
  });
  addEventListener('online', () => void attempt());
  timer = setTimeout(() => void attempt(), periodMs);
}
