/* The field for codes in the blocks of the cart and the checkout. It needs no build: the page has these libraries. */
(function () {
  'use strict';
  const { createElement: h, useState, Fragment } = window.wp.element;
  const { registerPlugin } = window.wp.plugins;
  const { ExperimentalDiscountsMeta, TotalsItem, TotalsWrapper, extensionCartUpdate } =
    window.wc.blocksCheckout;
  const texts = window.wc.wcSettings.getSetting('largesse_data', {});
  const { getCurrencyFromPriceResponse, formatPrice } = window.wc.priceFormat;

  const update = (data) => extensionCartUpdate({ namespace: 'largesse', data });

  /** Runs one change at a time, and shows why it failed. */
  function useChange() {
    const [state, setState] = useState({ isBusy: false, message: '' });
    const change = async (data) => {
      setState({ isBusy: true, message: '' });
      try {
        await update(data);
        setState({ isBusy: false, message: '' });
        return true;
      } catch (error) {
        setState({ isBusy: false, message: error?.message ?? texts.failed });
        return false;
      }
    };
    return [state, change];
  }

  function CodeField() {
    const [code, setCode] = useState('');
    const [{ isBusy, message }, change] = useChange();
    const apply = async () => {
      if (code.trim() !== '' && !isBusy && (await change({ action: 'add', code }))) setCode('');
    };
    const input = h('input', {
      type: 'text',
      value: code,
      'aria-label': texts.code,
      placeholder: texts.code,
      autoComplete: 'off',
      spellCheck: false,
      maxLength: 700,
      style: { flex: 1, minWidth: 0, padding: '0.75em' },
      onChange: (event) => setCode(event.target.value),
      onKeyDown: (event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        void apply();
      },
    });
    const button = h(
      'button',
      { type: 'button', className: 'wp-element-button', disabled: isBusy, onClick: () => void apply() },
      texts.apply,
    );
    return h(
      TotalsWrapper,
      null,
      h(
        'div',
        { className: 'largesse-code', style: { padding: '0 16px' } },
        h('div', { style: { display: 'flex', gap: '8px' } }, input, button),
        h('div', { role: 'status', style: { marginTop: '4px' } }, message),
      ),
    );
  }

  function Cards({ cards, currency }) {
    const [{ isBusy, message }, change] = useChange();
    if (cards.length === 0) return null;
    const rows = cards.map((card) =>
      h(TotalsItem, {
        key: card.id,
        className: 'largesse-card',
        currency,
        label: card.label,
        value: -card.amount,
        description: h(
          Fragment,
          null,
          texts.balance.replace('%s', () => formatPrice(card.available, currency)),
          ' ',
          h(
            'button',
            {
              type: 'button',
              disabled: isBusy,
              'aria-label': `${texts.remove} ${card.label}`,
              style: {
                background: 'none',
                border: 0,
                padding: 0,
                textDecoration: 'underline',
                cursor: 'pointer',
              },
              onClick: () => void change({ action: 'remove', card: card.id }),
            },
            texts.remove,
          ),
        ),
      }),
    );
    return h(TotalsWrapper, null, rows, message && h('div', { role: 'status' }, message));
  }

  function Meta({ cart, extensions }) {
    const cards = extensions?.largesse?.cards ?? [];
    const currency = getCurrencyFromPriceResponse(cart?.cartTotals ?? {});
    return h(Cards, { cards, currency });
  }

  if (texts.isConfigured)
    registerPlugin('largesse', {
      scope: 'woocommerce-checkout',
      render: () =>
        // The total below is what is left to pay.
        h(ExperimentalDiscountsMeta, null, h(CodeField), h(Meta)),
    });
})();
