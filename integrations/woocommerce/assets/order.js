/* The box “Gift cards” of an order: sends its fields, and shows the order again. */
(function () {
  'use strict';
  const box = document.getElementById('largesse-order');
  if (!box) return;
  const message = box.querySelector('.largesse-message');
  box.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-largesse]');
    if (!button) return;
    event.preventDefault();
    const body = new FormData();
    body.set('action', 'largesse_order');
    body.set('nonce', box.dataset.nonce);
    body.set('order', box.dataset.order);
    body.set('do', button.dataset.largesse);
    body.set('card', button.dataset.card);
    for (const input of box.querySelectorAll('input'))
      if (input.type !== 'checkbox' || input.checked) body.set(input.name, input.value);
    button.disabled = true;
    message.textContent = '…';
    try {
      const response = await fetch(window.ajaxurl, { method: 'POST', body, credentials: 'same-origin' });
      const { success, data } = await response.json();
      if (success) return window.location.reload();
      message.textContent = data?.message ?? String(response.status);
    } catch (error) {
      message.textContent = String(error);
    }
    button.disabled = false;
  });
})();
