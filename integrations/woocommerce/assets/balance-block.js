/* The block of the balance check in the editor. The server renders it. */
(function () {
  'use strict';
  const { createElement: h } = window.wp.element;
  window.wp.blocks.registerBlockType('largesse/balance', {
    edit: () =>
      h(
        'div',
        window.wp.blockEditor.useBlockProps(),
        h(window.wp.serverSideRender, { block: 'largesse/balance' }),
      ),
    save: () => null,
  });
})();
