/** The steps from a file to its cards, which the pages after the first one show. */

import { markup, type Markup } from '../../../platform/markup.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import type { BatchValues } from './form.ts';

const steps = ['file', 'columns', 'lines', 'issue'] as const;

/** @param current undefined for equal cards, which have no steps. */
export function stepsOf(
  page: Page,
  { kind }: BatchValues,
  current: (typeof steps)[number],
): Markup | undefined {
  if (kind !== 'file') return undefined;
  const text = page.text.batches.steps;
  const items = steps.map((step, place) => {
    const isDone = place < steps.indexOf(current);
    const state = isDone ? markup` class="done"` : undefined;
    const marked = step === current ? markup` aria-current="step"` : state;
    return markup`<li${marked}>${text[step]}</li>`;
  });
  return markup`<ol class="trail" aria-label="${text.title}">${items}</ol>`;
}

/** A button to the columns of the file, whatever else the form lacks. */
export function columnsButton(page: Page, { kind }: BatchValues): Markup | undefined {
  if (kind !== 'file') return undefined;
  const action = `${page.basePath}/cards/batches/new`;
  return markup`<button class="button" formaction="${action}" formnovalidate name="show" value="columns">${page.text.batches.columnsPage.title}</button>`;
}
