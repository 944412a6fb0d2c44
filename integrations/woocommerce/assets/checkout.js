/* The field for codes in the classic cart and checkout. */
(function ($) {
  'use strict';
  const { url, nonce } = window.largesseCheckout;
  let typed = '';

  // The page replaces the table, and what was typed in it, after each change.
  $(document.body).on('updated_checkout updated_cart_totals', () => $('#largesse-code').val(typed));
  $(document).on('input', '#largesse-code', (event) => (typed = event.target.value));
  $(document).on('keydown', '#largesse-code', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    $('[data-largesse=add]').trigger('click');
  });

  $(document).on('click', '[data-largesse]', async (event) => {
    event.preventDefault();
    const button = event.currentTarget;
    const body = new URLSearchParams({ nonce, do: button.dataset.largesse });
    if (button.dataset.card) body.set('card', button.dataset.card);
    else body.set('code', $('#largesse-code').val());
    button.disabled = true;
    try {
      const response = await fetch(url, { method: 'POST', body, credentials: 'same-origin' });
      const { success, data } = await response.json();
      if (success) {
        typed = '';
        $('#largesse-code').val('');
        $(document.body).trigger('update_checkout').trigger('wc_update_cart');
      } else $('.largesse-message').text(data?.message ?? String(response.status));
    } catch (error) {
      $('.largesse-message').text(String(error));
    }
    button.disabled = false;
  });
})(window.jQuery);
