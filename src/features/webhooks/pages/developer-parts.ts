/** The common parts of the pages for developers. */

import { Fault, type FaultCode } from '../../../core/domain/fault.ts';
import type { Scope } from '../../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findResult, type Json, type Outcome } from '../../../pages/kit/once.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { panel } from '../../../pages/kit/parts.ts';

export const developersPath = '/developers';

/** The permission to open the pages. */
export const developerAccess = 'manageTokens';

/** Returns the permissions of a token in words. */
export function scopesText({ text }: Page, scopes: readonly Scope[]): string {
  return scopes.map((scope) => text.developers.scopes[scope]).join(' · ');
}

type Question = {
  readonly label: string;
  readonly before: MarkupPart;
  readonly form: MarkupPart;
  /** The path of "Cancel". */
  readonly back: string;
};

/** A panel with a question and its form. */
export function confirmPanel(page: Page, { label, before, form, back }: Question): Markup {
  return panel(
    label,
    markup`${before}
${form}
<p>${page.link(back, page.text.developers.cancel, 'quiet')}</p>`,
  );
}

type Once<Change, Result extends Json> = {
  readonly script: () => Script<Change>;
  /** The content of the page after the form, also after another submission of it. */
  readonly resultOf: (change: Change) => Result;
  /** The rejections that are returned instead of thrown. Default: none. */
  readonly codes?: readonly FaultCode[];
};

/** Runs a script once for the key of a form. */
export async function runOrFault<Change, Result extends Json>(
  page: Page,
  key: string,
  { script, resultOf, codes = [] }: Once<Change, Result>,
): Promise<Outcome<Result> | { readonly fault: Fault }> {
  try {
    return await page.once(key, function* run() {
      return resultOf(yield* script());
    });
  } catch (error) {
    if (error instanceof Fault && codes.includes(error.code)) return { fault: error };
    throw error;
  }
}

/** A secret that a form has created and that is shown once: it is stored sealed, for 24 hours, for one person. */
export type ShownSecret = {
  readonly done: 'token-created' | 'webhook-secret';
  /** The token or webhook. */
  readonly subject: number;
  readonly secret: string;
};

function isShownSecret(result: Json): result is ShownSecret {
  if (typeof result !== 'object' || result === null || !('done' in result) || !('secret' in result))
    return false;
  // Other forms have results of other kinds.
  return result['done'] === 'token-created' || result['done'] === 'webhook-secret';
}

/** The secret of an earlier form of this person, by the key in the path. */
export async function findShownSecret({ services, request }: Page): Promise<ShownSecret | undefined> {
  return await findResult(services, request, request.params['key'] ?? '', isShownSecret);
}

/** Returns the path of the page that shows the secret of a form with the key. */
export function pathOfSecret(key: string): string {
  return `${developersPath}/created/${key}`;
}
