/** The page without a connection: it tries again until the service responds. */

const periodMs = 3_000;
const timeoutMs = 4_000;

const content = document.querySelector('main[data-page]');
const state = document.getElementById('state');
const again = document.getElementById('again');

if (content instanceof HTMLElement && state && again) {
  // The worker says what was lost. Nothing was, if the page was opened by its own address.
  const { lost } = content.dataset;
  // The page stays after a lost form, because it says that the result is unknown.
  const wasSent = lost === 'form';
  for (const part of content.querySelectorAll('[data-when]'))
    if (part instanceof HTMLElement) part.hidden = (part.dataset['when'] === 'form') !== wasSent;
  if (wasSent)
    document.title = document.querySelector('[data-when="form"] h2')?.textContent ?? document.title;

  const { page = '', till = '', day = '' } = content.dataset;
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
    else if (lost === undefined) location.assign(till);
    else location.reload();
  };
  again.addEventListener('click', () => {
    if (wasSent) location.assign(day);
    else void attempt();
  });
  if (lost !== undefined) {
    addEventListener('online', () => void attempt());
    timer = setTimeout(() => void attempt(), periodMs);
  }
}
