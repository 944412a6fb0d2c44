/** New versions: what is known, and what an owner has to do. */

import type { VersionCheck } from '../domain/versions.ts';
import { isLater } from '../platform/list.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findVersionCheck } from '../storage/version-check.ts';

export {
  claimVersionCheck,
  findVersionCheck,
  saveNewestVersion,
  saveVersionFailure,
} from '../storage/version-check.ts';

/** The settings of the operator about new versions. */
export type VersionRule = {
  /** Whether the service looks for them; null: an owner decides. */
  readonly byOperator: boolean | null;
  /** The host of the list; null: no list is set, so nothing is ever requested. */
  readonly host: string | null;
  /** The version that runs. */
  readonly present: string;
};

/** Whether the service reads the list each day. */
export function looksForVersions(
  { byOperator, host }: Pick<VersionRule, 'byOperator' | 'host'>,
  { isWanted }: Pick<VersionCheck, 'isWanted'>,
): boolean {
  return host !== null && (byOperator ?? isWanted ?? false);
}

/** A version that is later than the present one; null: none is known, or the service does not look for one. */
export function laterVersion(rule: VersionRule, check: VersionCheck): string | null {
  const { newest } = check;
  return newest !== null && looksForVersions(rule, check) && isLater(newest, rule.present) ? newest : null;
}

/** The task of an owner: to decide, or to install a later version. Null: nothing. */
export type VersionConcern = { readonly kind: 'ask' } | { readonly kind: 'later'; readonly version: string };

/** Reads one row, and none without a list. */
export function* findVersionConcern(rule: VersionRule): Script<VersionConcern | null> {
  if (rule.host === null) return null;
  const check = yield* findVersionCheck();
  if (rule.byOperator === null && check.isWanted === null) return { kind: 'ask' };
  const later = laterVersion(rule, check);
  return later === null ? null : { kind: 'later', version: later };
}
