/**
 * The style sheet of the API reference: the fonts and colors of the pages for staff, the reader's light or dark mode, and
 * nothing from other hosts.
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
    background: var(--surface);
    font-size: var(--s-1);
  }
  .home {
    color: var(--ink);
    font: 500 var(--s2)/1.2 var(--figure);
    text-decoration: none;
  }
  .home span {
    font-family: var(--text);
  }
  .home span,
  .group,
  .type,
  .optional {
    color: var(--soft);
    font-size: var(--s-1);
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
    border-radius: var(--r1);
    color: var(--soft);
    text-decoration: none;
  }
  .side li a:hover {
    color: var(--ink);
  }
  .side li a[aria-current] {
    background: var(--good-ground);
    color: var(--link);
    font-weight: 600;
  }
  .side [hidden] {
    display: none;
  }
  /* The room of the search, before the script adds it. */
  .search:not(:empty) {
    display: contents;
  }
  @media (scripting: enabled) {
    .search:empty {
      height: 3.75rem;
    }
  }
  [role='combobox'] {
    width: 100%;
    min-height: 2.75rem;
    padding: 0.4rem 2.25rem 0.4rem 0.75rem;
    border: 1px solid var(--line-strong);
    border-radius: var(--r2);
    background: var(--ground);
    color: inherit;
    font: inherit;
    font-size: var(--s0);
  }
  [role='combobox']::-webkit-search-cancel-button {
    display: none;
  }
  [role='search'] {
    position: sticky;
    top: 0;
    z-index: 1;
    padding: 0.75rem 0 0.25rem;
    background: var(--surface);
  }
  [role='search'] kbd {
    position: absolute;
    inset: 1.375rem 0.75rem auto auto;
    min-width: 1.5rem;
    border: 1px solid var(--line-strong);
    border-radius: var(--r1);
    color: var(--soft);
    font: var(--s-1)/1.375rem var(--code);
    text-align: center;
  }
  :focus + kbd {
    display: none;
  }
  .side .found {
    margin: 0.25rem 0;
    color: var(--soft);
    font-weight: 400;
  }
  .side .found:empty {
    margin: 0;
  }
  .results small {
    display: block;
    overflow: hidden;
    width: 100%;
    color: var(--soft);
    font-size: 0.75rem;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .side .results li a {
    display: block;
    padding-block: 0.375rem;
    color: var(--ink);
  }
  .side .results a[aria-selected='true'] {
    background: var(--good-ground);
    color: var(--link);
    outline: 2px solid var(--focus);
    outline-offset: -2px;
  }
  .method {
    color: var(--soft);
    font: 600 0.6875rem/1 var(--code);
    letter-spacing: 0.02em;
  }
  .get {
    color: var(--blue);
  }
  .post {
    color: var(--link);
  }
  .put {
    color: var(--wait);
  }
  .delete {
    color: var(--bad);
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
    border-radius: var(--r1);
  }
  .endpoint code {
    background: none;
    font-size: var(--s0);
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
    font-size: var(--s0);
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
    color: var(--wait);
    font-size: var(--s-1);
  }
  .more {
    margin: 0.625rem 0 0;
    padding: 0 0.875rem;
    border: 1px solid var(--line);
    border-radius: var(--r2);
    font-size: var(--s0);
  }
  .more > summary {
    padding: 0.5rem 0;
    color: var(--soft);
    font-size: var(--s-1);
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
    font-size: var(--s-1);
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
      scroll-padding-block: 6rem 2rem;
      border: 0;
      border-right: 1px solid var(--line);
    }
    [role='search'] {
      top: -1.75rem;
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
