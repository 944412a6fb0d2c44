/** The style of the reference's text: colors, headings, tables and code. */
const css = String.raw;

export const textStyle: string = css`
  :root {
    color-scheme: light dark;
    --paper: #fff;
    --panel: #f6f8f7;
    --ink: #1b2420;
    --soft: #55605a;
    --line: #e1e7e3;
    --line-strong: #7f8a84;
    --accent: #08654f;
    --tint: #e4f2ed;
    --amber: #8a4b00;
    --red: #a8261c;
    --blue: #1b5a94;
    --code: #14201c;
    --code-line: #2a3a34;
    --code-ink: #e3ece8;
    --code-soft: #9db3aa;
    --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --paper: #111614;
      --panel: #1a211e;
      --ink: #e3e9e6;
      --soft: #a0aca6;
      --line: #2b3330;
      --line-strong: #77837d;
      --accent: #6fcfb4;
      --tint: #17332b;
      --amber: #e5ae5c;
      --red: #f2938b;
      --blue: #83bcec;
      --code: #0b100e;
    }
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
    background: var(--paper);
    color: var(--ink);
    font: 1rem/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
    overflow-wrap: break-word;
  }
  a {
    color: var(--accent);
    text-underline-offset: 0.2em;
    text-decoration-thickness: 1px;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: 4px;
  }
  .skip {
    position: absolute;
    left: -99rem;
  }
  .skip:focus {
    left: 1rem;
    top: 1rem;
    padding: 0.5rem 1rem;
    background: var(--paper);
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
    font-size: 2rem;
    letter-spacing: -0.02em;
  }
  h2 {
    margin: 2.75rem 0 0.75rem;
    font-size: 1.1875rem;
    letter-spacing: -0.01em;
  }
  h3 {
    margin: 1.75rem 0 0.375rem;
    font-size: 1rem;
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
    background: var(--tint);
    box-shadow: 0 0 0 0.375rem var(--tint);
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
    font: 0.875em/1.5 var(--mono);
  }
  :is(p, li) > code {
    padding: 0.1em 0.3em;
    border-radius: 4px;
    background: var(--panel);
    overflow-wrap: anywhere;
  }
  pre {
    overflow-x: auto;
    padding: 1rem;
    border: 1px solid var(--code-line);
    border-radius: 10px;
    background: var(--code);
    color: var(--code-ink);
    font-size: 0.8125rem;
    line-height: 1.65;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  pre code {
    font: inherit;
    font-family: var(--mono);
  }
  pre:focus-visible {
    outline-offset: -2px;
    border-radius: 10px;
  }
  figure {
    border: 1px solid var(--code-line);
    border-radius: 10px;
    background: var(--code);
  }
  figcaption {
    padding: 0.5rem 1rem;
    border-bottom: 1px solid var(--code-line);
    color: var(--code-soft);
    font-size: 0.8125rem;
  }
  figure pre {
    margin: 0;
    border: 0;
  }
  .languages summary {
    padding: 0.375rem 1rem;
    color: var(--code-soft);
    font-size: 0.8125rem;
    cursor: pointer;
  }
  .languages summary:hover,
  .languages [open] > summary {
    color: var(--code-ink);
  }
  .copy {
    padding: 0.125rem 0.5rem;
    border: 1px solid var(--code-line);
    border-radius: 6px;
    background: var(--code);
    color: var(--code-soft);
    font: inherit;
    font-size: 0.8125rem;
    cursor: pointer;
  }
  .copy:hover {
    color: var(--code-ink);
  }
  figcaption .copy {
    float: right;
    margin: -0.125rem -0.5rem -0.125rem 0;
  }
  .run {
    padding: 0.5rem 1rem 1rem;
    border-top: 1px solid var(--code-line);
    color: var(--code-soft);
    font-size: 0.8125rem;
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
    border: 1px solid var(--code-soft);
    border-radius: 6px;
    background: var(--code);
    color: var(--code-ink);
    font: 0.8125rem/1.5 var(--mono);
  }
  .run button {
    min-height: 2rem;
    padding: 0.25rem 1rem;
    border: 1px solid var(--code-soft);
    border-radius: 6px;
    background: var(--code);
    color: var(--code-ink);
    font: inherit;
    cursor: pointer;
  }
  .run button:disabled {
    color: var(--code-soft);
    cursor: default;
  }
  .run p {
    margin: 0.5rem 0;
    color: var(--code-ink);
  }
  .run pre {
    max-height: 30rem;
    padding: 0.5rem 0 0;
  }
  .copied {
    position: relative;
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
