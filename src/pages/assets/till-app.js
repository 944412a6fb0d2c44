/** The till as an app of a phone or tablet: its worker, its installation, and the screen that stays on. */

/** @typedef {Event & { prompt(): Promise<unknown> }} InstallPrompt */

const manifest = document.querySelector('link[rel="manifest"]');
// Browsers have neither on pages that are not encrypted.
if (manifest instanceof HTMLLinkElement && 'serviceWorker' in navigator) {
  const scope = new URL('../till', manifest.href);
  navigator.serviceWorker
    .register(new URL('worker.js', manifest.href), { scope: scope.pathname })
    .catch(() => {
      // Without the worker, the browser shows its own page when there is no connection.
    });
}

const entry = document.getElementById('install');
addEventListener('beforeinstallprompt', (event) => {
  if (!entry) return;
  event.preventDefault();
  entry.hidden = false;
  entry.querySelector('button')?.addEventListener('click', () => {
    entry.hidden = true;
    void (/** @type {InstallPrompt} */ (event).prompt());
  });
});

/** The screen of an installed till stays on. A browser releases the lock whenever the page is hidden. */
async function keepAwake() {
  try {
    await navigator.wakeLock.request('screen');
  } catch {
    // The battery is low, or the system does not allow it.
  }
}

if ('wakeLock' in navigator && matchMedia('(display-mode: standalone)').matches) {
  void keepAwake();
  addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void keepAwake();
  });
}
