/* The block of the balance check in the editor. The server renders it, and its form is not sent there. */
(function () {
  'use strict';
  const { createElement: h } = window.wp.element;
  const { Disabled } = window.wp.components;
  window.wp.blocks.registerBlockType('largesse/balance', {
    edit: () =>
      h(
        'div',
        window.wp.blockEditor.useBlockProps(),
        h(Disabled, null, h(window.wp.serverSideRender, { block: 'largesse/balance' })),
      ),
    save: () => null,
  });
})();
