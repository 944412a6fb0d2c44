/** The first run: suggests the time zone of the browser, and shows the name of the shop on the card. */

const form = document.querySelector('form[data-suggests]');
const timeZone = document.getElementById('time_zone');
if (form && timeZone instanceof HTMLInputElement) {
  const { timeZone: own } = Intl.DateTimeFormat().resolvedOptions();
  const isKnown = [...(timeZone.list?.options ?? [])].some(({ value }) => value === own);
  if (isKnown && timeZone.value === timeZone.defaultValue) timeZone.value = own;
}

const shop = document.getElementById('shop');
const shown = document.querySelector('.gift .shop');
if (shop instanceof HTMLInputElement && shown) {
  const example = shown.textContent;
  shop.addEventListener('input', () => {
    shown.textContent = shop.value.trim() || example;
  });
}
