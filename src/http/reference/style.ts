/**
 * The style sheet of the API reference. A constant with system fonts and the reader's light or dark mode, so the page
 * reads no file and sends no further request. The tag only names the language for the formatter.
 */
const css = String.raw;

export const referenceStyle: string = css`
  :root {
    color-scheme: light dark;
    --paper: #fff;
    --panel: #f6f7f6;
    --ink: #1d2421;
    --soft: #56605b;
    --line: #e2e6e3;
    --accent: #0b6350;
    --amber: #8a4b00;
    --red: #a8261c;
    --blue: #1b5a94;
    --violet: #6a3fa0;
    --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
    --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --paper: #131715;
      --panel: #1b201e;
      --ink: #e4e9e6;
      --soft: #9ea9a3;
      --line: #2d3431;
      --accent: #6fcfb4;
      --amber: #e5ae5c;
      --red: #f2938b;
      --blue: #83bcec;
      --violet: #c2a4ee;
    }
  }
  * {
    box-sizing: border-box;
  }
  html {
    scroll-padding-top: 1.5rem;
    text-size-adjust: 100%;
    -webkit-text-size-adjust: 100%;
  }
  body {
    margin: 0;
    background: var(--paper);
    color: var(--ink);
    font: 1rem/1.6 var(--sans);
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
    border-radius: 3px;
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

  /* Words */
  h1,
  h2,
  h3,
  h4,
  h5 {
    line-height: 1.25;
    margin: 0;
    text-wrap: balance;
  }
  h1 {
    font-size: 2.125rem;
    letter-spacing: -0.02em;
  }
  h2 {
    font-size: 1.625rem;
    letter-spacing: -0.015em;
    margin-bottom: 1rem;
  }
  h3 {
    font-size: 1.25rem;
    letter-spacing: -0.01em;
  }
  h4 {
    font-size: 0.9375rem;
    margin: 2rem 0 0.5rem;
  }
  h5 {
    font-size: 0.875rem;
    margin: 1.25rem 0 0.25rem;
  }
  h3 + p {
    margin-top: 0.375rem;
  }
  h3 > a {
    color: inherit;
    text-decoration: none;
  }
  h3 > a:hover {
    text-decoration: underline;
  }
  p,
  ul,
  ol,
  pre {
    margin: 0 0 0.75rem;
  }
  li {
    margin: 0.25rem 0;
  }
  .prose,
  section > p,
  section > ul {
    max-width: 44rem;
  }
  .prose h3 {
    margin: 2rem 0 0.5rem;
  }
  #servers {
    margin-top: 2rem;
  }
  code {
    font: 0.875em/1.5 var(--mono);
  }
  :is(p, li, dd) > code {
    padding: 0.1em 0.3em;
    border-radius: 4px;
    background: var(--panel);
    overflow-wrap: anywhere;
  }
  pre {
    overflow-x: auto;
    padding: 0.875rem 1rem;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--panel);
    font-size: 0.875rem;
  }
  pre code {
    font-size: 0.8125rem;
    line-height: 1.6;
  }
  .k {
    color: var(--blue);
  }
  .s {
    color: var(--accent);
  }
  .v {
    color: var(--violet);
  }
  .edition,
  .note,
  .type,
  .version,
  .constraints,
  .optional {
    color: var(--soft);
  }
  .edition {
    margin-top: 0.25rem;
  }
  .version,
  .type,
  .optional,
  .required,
  .deprecated,
  .note,
  .constraints {
    font-size: 0.8125rem;
    font-weight: 400;
  }
  .required {
    color: var(--amber);
  }
  .deprecated {
    color: var(--red);
  }
  th > .type {
    display: block;
  }

  /* Sections and operations */
  main {
    min-width: 0;
    padding: 1.5rem 1.25rem 6rem;
  }
  section + section {
    margin-top: 4rem;
    padding-top: 3rem;
    border-top: 1px solid var(--line);
  }
  .operation,
  .object {
    margin-top: 3rem;
  }
  .alone,
  .object {
    max-width: 44rem;
  }
  .operation + .operation {
    padding-top: 3rem;
    border-top: 1px solid var(--line);
  }
  .endpoint {
    margin: 0.625rem 0 1.25rem;
  }
  .endpoint code {
    font-size: 0.9375rem;
  }
  .method {
    font: 600 0.6875rem/1 var(--mono);
    letter-spacing: 0.03em;
    color: var(--soft);
  }
  .endpoint .method {
    margin-right: 0.25rem;
    padding: 0.3rem 0.45rem;
    border: 1px solid;
    border-radius: 5px;
  }
  .get {
    color: var(--blue);
  }
  .post {
    color: var(--accent);
  }
  .put,
  .patch {
    color: var(--amber);
  }
  .delete {
    color: var(--red);
  }
  .facts {
    margin: 1rem 0;
    font-size: 0.875rem;
  }
  .facts > div {
    display: flex;
    gap: 0.75rem;
    padding: 0.2rem 0;
  }
  .facts dt {
    flex: 0 0 6.5rem;
    color: var(--soft);
  }
  dd {
    margin: 0;
    min-width: 0;
  }
  .list {
    margin: 0.5rem 0;
    max-width: 44rem;
  }
  .list > div {
    padding: 1rem 0;
    border-top: 1px solid var(--line);
  }
  .list dt {
    font-weight: 600;
  }
  .list dt > .type {
    margin-left: 0.5rem;
  }

  /* Tables */
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.875rem;
    line-height: 1.5;
  }
  th,
  td {
    padding: 0.75rem 1rem 0.75rem 0;
    border-top: 1px solid var(--line);
    text-align: left;
    vertical-align: top;
    font-weight: 400;
  }
  td:last-child {
    padding-right: 0;
  }
  .fields {
    table-layout: fixed;
  }
  .fields thead {
    position: absolute;
    clip-path: inset(50%);
  }
  .what {
    width: 42%;
  }
  .problems th {
    width: 28%;
  }
  .problems thead th {
    border: 0;
    color: var(--soft);
    font-size: 0.8125rem;
    width: auto;
  }
  .name {
    margin-right: 0.375rem;
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  td p,
  td ul {
    margin: 0 0 0.25rem;
  }
  :is(td, dd) > :last-child {
    margin-bottom: 0;
  }
  tr:target,
  .list > div:target {
    background: var(--panel);
    box-shadow: -0.5rem 0 var(--panel);
  }

  /* What folds */
  summary {
    cursor: pointer;
  }
  .inner > td {
    border: 0;
    padding: 0 0 0.75rem;
  }
  .nested {
    padding: 0 0.875rem;
    border: 1px solid var(--line);
    border-radius: 8px;
  }
  .nested > summary {
    padding: 0.4rem 0;
    font-size: 0.8125rem;
  }
  .response {
    border-top: 1px solid var(--line);
    font-size: 0.875rem;
  }
  .response > :first-child {
    display: flex;
    gap: 0.75rem;
    align-items: baseline;
    margin: 0;
    padding: 0.625rem 0;
  }
  .response > summary::after {
    content: '+';
    margin-left: auto;
    color: var(--soft);
  }
  .response[open] > summary::after {
    content: '−';
  }
  .response > div {
    padding: 0 0 1rem;
  }
  .status {
    font-weight: 600;
    color: var(--soft);
  }
  .s2 {
    color: var(--accent);
  }
  .s4 {
    color: var(--amber);
  }
  .s5 {
    color: var(--red);
  }
  .content {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.75rem;
    align-items: baseline;
    font-size: 0.875rem;
  }
  .forms {
    font-size: 0.875rem;
  }
  ol.forms {
    padding-left: 1.25rem;
  }
  figure {
    margin: 0 0 1rem;
  }
  figcaption,
  .figure > summary {
    margin-bottom: 0.375rem;
    color: var(--soft);
    font-size: 0.8125rem;
  }

  .samples pre {
    max-height: 24rem;
  }

  /* Contents */
  .contents {
    padding: 1rem 1.25rem;
    border-bottom: 1px solid var(--line);
    background: var(--panel);
    font-size: 0.875rem;
    scroll-target-group: auto;
  }
  .contents p {
    margin: 0;
  }
  .product a {
    font-weight: 600;
  }
  .contents a {
    display: block;
    padding: 0.2rem 0;
    color: var(--ink);
    text-decoration: none;
  }
  .contents .product a {
    display: inline;
  }
  .contents a:hover {
    color: var(--accent);
  }
  .contents ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .contents li {
    margin: 0;
  }
  .contents > details > ul > li {
    margin-top: 1rem;
  }
  .contents > details > ul > li > a {
    font-weight: 600;
  }
  .contents ul ul a {
    display: flex;
    justify-content: space-between;
    gap: 0.75rem;
    align-items: baseline;
    color: var(--soft);
  }
  .contents a:target-current {
    color: var(--accent);
  }

  @media (max-width: 40rem) {
    .fields,
    .fields :is(tbody, tr, th, td) {
      display: block;
    }
    .fields th {
      padding: 0.75rem 0 0;
    }
    .fields td {
      border: 0;
      padding: 0.125rem 0 0.75rem;
    }
    .contents ul ul a {
      padding: 0.35rem 0;
    }
  }
  @media screen and (min-width: 60rem) {
    body {
      display: grid;
      grid-template-columns: 17rem minmax(0, 1fr);
      max-width: 100rem;
      margin: auto;
    }
    .contents {
      position: sticky;
      top: 0;
      height: 100vh;
      overflow-y: auto;
      padding: 2rem 1.5rem;
      border: 0;
      border-right: 1px solid var(--line);
    }
    /* Folded on a phone, always open beside the text; where that cannot be styled it can still be unfolded. */
    .contents > details::details-content {
      content-visibility: visible;
      block-size: auto;
    }
    @supports selector(::details-content) {
      .contents > details > summary {
        display: none;
      }
    }
    main {
      padding: 2.5rem 3rem 8rem;
    }
  }
  @media screen and (min-width: 76rem) {
    .beside {
      display: grid;
      grid-template: 'about samples' auto 'parts samples' 1fr / minmax(0, 1fr) minmax(0, 0.75fr);
      column-gap: 2.5rem;
    }
    .about {
      grid-area: about;
    }
    .parts {
      grid-area: parts;
    }
    .samples {
      grid-area: samples;
      align-self: start;
      position: sticky;
      top: 1.5rem;
      max-height: calc(100vh - 3rem);
      overflow-y: auto;
    }
    .samples pre {
      max-height: none;
    }
  }
  @media print {
    body {
      font-size: 10pt;
    }
    .contents,
    .skip,
    .nested {
      display: none;
    }
    details::details-content {
      content-visibility: visible;
      block-size: auto;
    }
    .samples pre {
      max-height: none;
    }
    pre {
      white-space: pre-wrap;
    }
    tr,
    figure,
    h3,
    h4 {
      break-inside: avoid;
    }
    h2,
    h3,
    h4,
    summary {
      break-after: avoid;
    }
  }
`;
