/** New rows of the recent activity, as the server sends them. Without this script, the page shows them when it is reloaded. */

const rows = document.querySelector('[data-live-rows]');
const state = document.querySelector('[data-live-state]');
const summary = document.querySelector('[data-live-summary]');

/** The pause between two summaries, so that a screen reader is not interrupted by every sale. */
const summaryPauseMs = 5_000;
const retryMs = 30_000;

if (rows instanceof HTMLElement && state instanceof HTMLElement && summary) follow(rows, state, summary);

/** @param {HTMLElement} list @param {HTMLElement} shown @param {Element} spoken */
function follow(list, shown, spoken) {
  const { url = '', rows: max = '', one = '', other = '' } = list.dataset;
  const { live = '', lost = '' } = shown.dataset;
  let { after: newest = '' } = list.dataset;
  const rowsMax = Number(max);
  const plural = new Intl.PluralRules(document.documentElement.lang);
  /** @type {EventSource | null} */
  let source = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;
  let fresh = 0;
  let latest = '';
  let isPausing = false;

  /** @param {boolean} isLive */
  const show = (isLive) => {
    shown.hidden = false;
    shown.textContent = isLive ? live : lost;
    shown.classList.toggle('good', isLive);
    shown.classList.toggle('wait', !isLive);
  };

  const speak = () => {
    if (isPausing || fresh === 0) return;
    const form = plural.select(fresh) === 'one' ? one : other;
    spoken.textContent = form.replace('{count}', String(fresh)).replace('{text}', latest);
    fresh = 0;
    isPausing = true;
    setTimeout(() => {
      isPausing = false;
      speak();
    }, summaryPauseMs);
  };

  /** @param {string} text */
  const add = (text) => {
    const sent = /** @type {{ key: string, row: string, text: string }} */ (JSON.parse(text));
    const { key, row, text: sentence } = sent;
    if (list.querySelector(`[data-key="${CSS.escape(key)}"]`)) return;
    const template = document.createElement('template');
    // The server has escaped the values in the row.
    template.innerHTML = row;
    list.prepend(template.content);
    for (const old of [...list.children].slice(rowsMax)) old.remove();
    newest = key;
    fresh += 1;
    latest = sentence;
    speak();
  };

  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };

  const open = () => {
    close();
    const opened = new EventSource(`${url}${encodeURIComponent(newest)}`);
    source = opened;
    opened.addEventListener('open', () => show(true));
    opened.addEventListener('activity', ({ data }) => add(String(data)));
    opened.addEventListener('error', () => {
      show(false);
      // The browser reconnects by itself, unless the response was an error.
      if (opened.readyState === EventSource.CLOSED) retry = setTimeout(open, retryMs);
    });
  };

  // A browser has six connections to a host: hidden pages do not keep one.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else open();
  });
  addEventListener('pagehide', close);
  if (!document.hidden) open();
}
