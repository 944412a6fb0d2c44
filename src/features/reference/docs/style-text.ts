/** The style of the reference's text: colors, headings, tables and code. */
const css = String.raw;

export const textStyle: string = css`
  :root {
    --blue: light-dark(#1b5a94, #83bcec);
    --block: light-dark(#14201c, #0b100e);
    --block-line: #2a3a34;
    --block-ink: #e3ece8;
    --block-soft: #9db3aa;
  }
  * {
    box-sizing: border-box;
  }
  html {
    scroll-padding-top: 1.5rem;
    -webkit-text-size-adjust: 100%;
    text-size-adjust: 100%;
  }
  body {
    margin: 0;
    background: var(--ground);
    color: var(--ink);
    font: 400 var(--s0)/1.6 var(--text);
    overflow-wrap: break-word;
  }
  a {
    color: var(--link);
    text-underline-offset: 0.2em;
    text-decoration-thickness: 1px;
  }
  :focus-visible {
    outline: 3px solid var(--focus);
    outline-offset: 2px;
    border-radius: var(--r1);
  }
  .skip {
    position: absolute;
    left: -99rem;
  }
  .skip:focus {
    left: 1rem;
    top: 1rem;
    padding: 0.5rem 1rem;
    background: var(--ground);
    z-index: 1;
  }
  h1,
  h2,
  h3 {
    line-height: 1.25;
    margin: 0;
    text-wrap: balance;
  }
  h1 {
    font: 500 var(--s3)/1.15 var(--figure);
    letter-spacing: -0.01em;
  }
  h2,
  h3 {
    font-weight: 600;
    line-height: 1.2;
  }
  h2 {
    margin: 2.75rem 0 0.75rem;
    font-size: var(--s1);
  }
  h3 {
    margin: 1.75rem 0 0.375rem;
    font-size: var(--s0);
  }
  :is(h2, h3) > a {
    color: inherit;
    text-decoration: none;
  }
  :is(h2, h3) > a:hover::after {
    content: ' #';
    color: var(--soft);
  }
  :is(h2, h3):target > a {
    background: var(--good-ground);
    box-shadow: 0 0 0 0.375rem var(--good-ground);
  }
  p,
  ul,
  pre,
  figure {
    margin: 0 0 0.875rem;
  }
  ul {
    padding-left: 1.25rem;
  }
  li {
    margin: 0.25rem 0;
  }
  code {
    font: 0.875em/1.5 var(--code);
  }
  :is(p, li) > code {
    padding: 0.1em 0.3em;
    border-radius: var(--r1);
    background: var(--sunken);
    overflow-wrap: anywhere;
  }
  pre {
    overflow-x: auto;
    padding: 1rem;
    border: 1px solid var(--block-line);
    border-radius: var(--r2);
    background: var(--block);
    color: var(--block-ink);
    font-size: var(--s-1);
    line-height: 1.65;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  pre code {
    font: inherit;
    font-family: var(--code);
  }
  pre:focus-visible {
    outline-offset: -2px;
    border-radius: var(--r2);
  }
  figure {
    border: 1px solid var(--block-line);
    border-radius: var(--r2);
    background: var(--block);
  }
  figcaption {
    padding: 0.5rem 1rem;
    border-bottom: 1px solid var(--block-line);
    color: var(--block-soft);
    font-size: var(--s-1);
  }
  figure pre {
    margin: 0;
    border: 0;
  }
  .languages summary {
    padding: 0.375rem 1rem;
    color: var(--block-soft);
    font-size: var(--s-1);
    cursor: pointer;
  }
  .languages summary:hover,
  .languages [open] > summary {
    color: var(--block-ink);
  }
  .copy {
    min-width: 4.25rem;
    min-height: 1.5rem;
    padding: 0.125rem 0.5rem;
    border: 1px solid var(--block-line);
    border-radius: var(--r1);
    background: var(--block);
    color: var(--block-soft);
    font: inherit;
    font-size: var(--s-1);
    cursor: pointer;
  }
  .copy:hover {
    color: var(--block-ink);
  }
  figcaption .copy {
    float: right;
    margin: -0.125rem -0.5rem -0.125rem 0;
  }
  .run {
    padding: 0.5rem 1rem 1rem;
    border-top: 1px solid var(--block-line);
    color: var(--block-soft);
    font-size: var(--s-1);
  }
  .run label {
    display: block;
    margin: 0.5rem 0;
  }
  .run input,
  .run textarea {
    display: block;
    width: 100%;
    padding: 0.25rem 0.5rem;
    border: 1px solid var(--block-soft);
    border-radius: var(--r1);
    background: var(--block);
    color: var(--block-ink);
    font: 0.8125rem/1.5 var(--code);
  }
  .run button {
    min-height: 2rem;
    padding: 0.25rem 1rem;
    border: 1px solid var(--block-soft);
    border-radius: var(--r1);
    background: var(--block);
    color: var(--block-ink);
    font: inherit;
    cursor: pointer;
  }
  .run button:disabled {
    color: var(--block-soft);
    cursor: default;
  }
  .run p {
    margin: 0.5rem 0;
    color: var(--block-ink);
  }
  .run pre {
    max-height: 30rem;
    padding: 0.5rem 0 0;
  }
  .copied {
    position: relative;
  }
  .copied:has(> [hidden]) {
    display: none;
  }
  /* The room of the button, also before the script adds it. */
  @media (scripting: enabled) {
    .text > pre,
    header > pre,
    .copied > pre {
      padding-inline-end: 5rem;
    }
  }
  .sr {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .copied .copy {
    position: absolute;
    top: 0.5rem;
    right: 0.5rem;
  }
  .k {
    color: #8ecbf5;
  }
  .s {
    color: #8fdcc2;
  }
  .v {
    color: #f0bd79;
  }
`;
