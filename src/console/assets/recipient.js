/** The page that emails link to: submits the code after `#`, which the browser does not send with the address. */

function submitCode() {
  const { hash, pathname, search } = location;
  if (hash.length < 2) return;
  // First, so that the address bar and the history do not keep the code.
  history.replaceState(null, '', pathname + search);
  const field = document.getElementById('code');
  if (!(field instanceof HTMLInputElement) || !field.form) return;
  try {
    field.value = decodeURIComponent(hash.slice(1)).slice(0, field.maxLength);
  } catch {
    // The link was damaged: the form stays empty.
    return;
  }
  field.form.requestSubmit();
}

submitCode();
// The link of another card, opened in this tab.
addEventListener('hashchange', submitCode);
