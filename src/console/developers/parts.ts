/** What the pages for developers have in common. */

import { Fault, type FaultCode } from '../../domain/fault.ts';
import type { Scope } from '../../domain/stores/store.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { assertMay } from '../../service/staff-actions/limits.ts';
import { recordAction } from '../../service/staff/staff.ts';
import type { Script } from '../../storage/sql/sql.ts';
import type { StaffAction } from '../../storage/staff/action.ts';
import { findResult, runOnce, type Json } from '../kit/once.ts';
import { shellPage } from '../kit/page.ts';
import type { ConsoleServices, PageResponse, StaffRequest } from '../kit/route.ts';
import { actingAs } from '../staff/people.ts';
import { type PageLanguage, textsOf } from '../kit/texts.ts';

export const developerTexts = textsOf('developers');

export const developersPath = '/developers';

/** Who can open the pages. */
export const developerAccess = 'manageTokens';

/** A page of this part of the navigation. */
export function developerPage(
  services: ConsoleServices,
  request: StaffRequest,
  page: {
    readonly title: string;
    readonly body: MarkupPart;
    readonly actions?: Markup;
    readonly status?: PageResponse['status'];
  },
): PageResponse {
  const { status = 200, ...shown } = page;
  return { status, body: shellPage(services, request, { ...shown, path: developersPath }) };
}

/** The id of a token, webhook or event in the path. @throws Fault `not-found` if it is not an id. */
export function pathId({ params }: Pick<StaffRequest, 'params'>, name = 'id'): number {
  const text = params[name] ?? '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new Fault('not-found');
  return id;
}

/** The id before which a list continues; undefined: from the newest. */
export function beforeOf({ query }: Pick<StaffRequest, 'query'>): number | undefined {
  const text = query.get('before') ?? '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}

/** What a token can do, in words. */
export function scopesText(scopes: readonly Scope[], language: PageLanguage): string {
  const text = developerTexts[language];
  return scopes.map((scope) => text.scopes[scope]).join(' · ');
}

/** A panel with a question and its form. */
export function confirmPanel(
  services: ConsoleServices,
  request: StaffRequest,
  {
    label,
    before,
    form,
    back,
  }: {
    readonly label: string;
    readonly before: MarkupPart;
    readonly form: MarkupPart;
    /** The path of "Cancel". */
    readonly back: string;
  },
): Markup {
  const { cancel } = developerTexts[request.language];
  return markup`<section class="panel stack change" aria-label="${label}">${before}
${form}
<p><a class="button quiet" href="${services.frame.basePath}${back}">${cancel}</a></p></section>`;
}

/** An entry of the audit log. Its details are names, never secrets. */
type DeveloperAction = Pick<StaffAction, 'action' | 'subjectId' | 'details'>;

/** Checks the permission in the transaction of a change, and records the change. */
export function* recordDeveloperAction(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  request: StaffRequest,
  entry: DeveloperAction,
): Script<void> {
  const { store, member } = request.signedIn;
  yield* assertMay(store, member, developerAccess);
  yield* recordAction(ctx, actingAs(request), { ...entry, storeId: store.id });
}

/** Runs a script once for the key of a form. A rejection with one of the codes is returned instead of thrown. */
export async function runOrFault<Result extends Json>(
  services: ConsoleServices,
  request: StaffRequest,
  { key, codes }: { readonly key: string; readonly codes: readonly FaultCode[] },
  script: () => Script<Result>,
): Promise<{ readonly result: Result; readonly isRepeated: boolean } | { readonly fault: Fault }> {
  try {
    return await runOnce(services, request, key, script);
  } catch (error) {
    if (error instanceof Fault && codes.includes(error.code)) return { fault: error };
    throw error;
  }
}

/** What a form has created that is shown once: it is stored sealed, for 24 hours, for one person. */
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
export async function findShownSecret(
  services: ConsoleServices,
  request: StaffRequest,
): Promise<ShownSecret | undefined> {
  return await findResult(services, request, request.params['key'] ?? '', isShownSecret);
}

/** Where the secret of a form with the key is shown. */
export function pathOfSecret(key: string): string {
  return `${developersPath}/created/${key}`;
}
