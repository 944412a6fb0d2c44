/**
 * The style sheet of the API reference: system fonts, the reader's light or dark mode, and nothing from other hosts.
 * The tag only names the language for the formatter.
 */
import { textStyle } from './style-text.ts';

const css = String.raw;

export const referenceStyle: string = css`
  ${textStyle}

  /* Navigation */
  .side {
    padding: 0.875rem 1.25rem;
    border-bottom: 1px solid var(--line);
    background: var(--panel);
    font-size: 0.875rem;
  }
  .home {
    color: var(--ink);
    font-weight: 650;
    font-size: 1rem;
    text-decoration: none;
  }
  .home span,
  .group,
  .type,
  .optional {
    color: var(--soft);
    font-size: 0.8125rem;
    font-weight: 400;
  }
  summary {
    cursor: pointer;
  }
  .side summary {
    padding: 0.5rem 0 0.25rem;
  }
  .side p {
    margin: 1.25rem 0 0.25rem;
    font-weight: 600;
  }
  .side ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .side li {
    margin: 0;
  }
  .side li a {
    display: flex;
    justify-content: space-between;
    align-items: baseline;
    gap: 0.75rem;
    margin: 0 -0.625rem;
    padding: 0.3rem 0.625rem;
    border-radius: 6px;
    color: var(--soft);
    text-decoration: none;
  }
  .side li a:hover {
    color: var(--ink);
  }
  .side li a[aria-current] {
    background: var(--tint);
    color: var(--accent);
    font-weight: 600;
  }
  .side [hidden] {
    display: none;
  }
  [type='search'] {
    width: 100%;
    margin: 0.75rem 0 0.25rem;
    padding: 0.4rem 0.625rem;
    border: 1px solid var(--line-strong);
    border-radius: 6px;
    background: var(--paper);
    color: inherit;
    font: inherit;
  }
  [role='search'] {
    position: sticky;
    top: 0;
    z-index: 1;
    background: var(--panel);
  }
  .results small {
    display: block;
    overflow: hidden;
    margin-bottom: 0.5rem;
    color: var(--soft);
    font-size: 0.75rem;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .method {
    color: var(--soft);
    font: 600 0.6875rem/1 var(--mono);
    letter-spacing: 0.02em;
  }
  .get {
    color: var(--blue);
  }
  .post {
    color: var(--accent);
  }
  .put {
    color: var(--amber);
  }
  .delete {
    color: var(--red);
  }

  /* Content */
  main {
    min-width: 0;
    padding: 1.75rem 1.25rem 3rem;
  }
  .group {
    margin: 0 0 0.25rem;
  }
  .endpoint {
    margin: 0.75rem 0 1.25rem;
  }
  .endpoint .method {
    margin-right: 0.25rem;
    padding: 0.3rem 0.45rem;
    border: 1px solid;
    border-radius: 6px;
  }
  .endpoint code {
    background: none;
    font-size: 0.9375rem;
  }
  h1 + p:not(.endpoint) {
    margin-top: 0.75rem;
  }
  .narrow,
  header,
  .text {
    max-width: 46rem;
  }
  .rows,
  .links {
    padding: 0;
    list-style: none;
    font-size: 0.9375rem;
  }
  .rows > li,
  .links > li {
    margin: 0;
    padding: 0.75rem 0;
    border-top: 1px solid var(--line);
  }
  .rows p {
    margin: 0.125rem 0 0;
  }
  .name {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0 0.625rem;
  }
  .name code {
    padding: 0;
    background: none;
    font-weight: 600;
  }
  .required {
    color: var(--amber);
    font-size: 0.8125rem;
  }
  .more {
    margin: 0.625rem 0 0;
    padding: 0 0.875rem;
    border: 1px solid var(--line);
    border-radius: 10px;
    font-size: 0.9375rem;
  }
  .more > summary {
    padding: 0.5rem 0;
    color: var(--soft);
    font-size: 0.875rem;
  }
  .more > .rows {
    margin: 0;
  }
  .links > li {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr));
    gap: 0.125rem 1.5rem;
    padding: 0.5rem 0;
  }
  .links > li > span {
    color: var(--soft);
  }
  .links .method {
    margin-right: 0.25rem;
  }
  .samples {
    margin-top: 1.5rem;
  }
  .samples pre {
    max-height: 26rem;
  }
  footer {
    margin-top: 4rem;
    padding-top: 1.25rem;
    border-top: 1px solid var(--line);
    color: var(--soft);
    font-size: 0.875rem;
  }
  footer nav {
    display: flex;
    flex-wrap: wrap;
    justify-content: space-between;
    gap: 0.5rem 2rem;
    margin-bottom: 1rem;
    font-size: 1rem;
  }
  [rel='prev']::before {
    content: '← ';
  }
  [rel='next'] {
    margin-left: auto;
  }
  [rel='next']::after {
    content: ' →';
  }

  @media screen and (min-width: 60rem) {
    body {
      display: grid;
      grid-template-columns: 17.5rem minmax(0, 1fr);
      max-width: 98rem;
      margin: auto;
    }
    .side {
      position: sticky;
      top: 0;
      height: 100vh;
      overflow-y: auto;
      padding: 1.75rem 1.5rem;
      border: 0;
      border-right: 1px solid var(--line);
    }
    /* The navigation opens at the group of the current page. */
    .side p:not(:first-of-type):has(+ ul [aria-current]) {
      scroll-initial-target: nearest;
    }
    /* Collapsed on a phone, always open next to the text. Without this selector it can still be opened. */
    .side > details::details-content {
      content-visibility: visible;
      block-size: auto;
    }
    @supports selector(::details-content) {
      .side summary {
        display: none;
      }
    }
    main {
      padding: 2.5rem 3rem 4rem;
    }
  }
  @media screen and (min-width: 76rem) {
    .wide > article {
      display: grid;
      grid-template: 'about samples' auto 'text samples' 1fr / minmax(0, 1fr) minmax(0, 0.8fr);
      column-gap: 3rem;
    }
    .wide header {
      grid-area: about;
    }
    .wide .text {
      grid-area: text;
    }
    .samples {
      grid-area: samples;
      align-self: start;
      position: sticky;
      top: 2.5rem;
      margin: 0;
      max-height: calc(100vh - 5rem);
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
    .side,
    .skip,
    footer {
      display: none;
    }
    details::details-content {
      content-visibility: visible;
      block-size: auto;
    }
    pre,
    figure {
      background: none;
      color: inherit;
      white-space: pre-wrap;
    }
    pre :is(.k, .s, .v) {
      color: inherit;
    }
    .samples pre {
      max-height: none;
    }
    h2,
    h3 {
      break-after: avoid;
    }
    li,
    figure {
      break-inside: avoid;
    }
  }
`;
