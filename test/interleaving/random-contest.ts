/** Random contests: one or two cards in some state, and a few callers that act on them. */

import type { Action, Changes } from '../support/reference-model.ts';
import { contender, type Contest, type Preparation } from './contest.ts';

export type RandomContest = Contest & {
  /** The actions of the contenders. */
  readonly actions: readonly Action[];
};

type Kind = Exclude<Action['kind'], 'issue' | 'print' | 'activate' | 'void_stock'>;

/** The kinds of actions. Those with more races are listed more often. */
const menu: readonly [Kind, ...Kind[]] = [
  'debit', 'debit', 'credit', 'top_up', 'hold', 'hold', 'capture', 'void', 'reverse', 'reverse', 'update', 'update', 'undo', 'suspend', 'resume', 'expire',
]; // prettier-ignore

/** The day before, the day of and the day after the contests. */
const days = [null, '2027-05-13', '2027-05-14', '2027-05-15'] as const;

/** The seconds before a contest, during which some holds expire. */
const pauseSeconds = 120;

export function drawContest(random: () => number): RandomContest {
  const below = (count: number): number => Math.floor(random() * count);
  const oneOf = <T>(...values: readonly [T, ...T[]]): T => values[below(values.length)] ?? values[0];
  const happens = (percent: number): boolean => below(100) < percent;
  // Few different amounts make several callers compete for the last of it.
  const amount = (): bigint => BigInt((1 + below(6)) * 500);
  const cards = happens(25) ? 2 : 1;

  const changes = (): Changes => ({
    ...(happens(40) && { balance: oneOf(0n, amount(), amount()) }),
    ...(happens(35) && { disable: happens(90) }),
    ...(happens(25) && { expiresOn: oneOf(...days) }),
    ...(happens(20) && { note: 'changed' }),
  });
  const draw = (kind: Kind, isContender: boolean): Action => {
    const on = { card: below(cards), isCurrent: isContender && happens(20) ? true : null };
    switch (kind) {
      case 'debit':
        return { kind, amount: amount(), partial: happens(40), ...on };
      case 'credit':
        return { kind, amount: amount(), ...on };
      case 'top_up':
        return { kind, amount: amount(), expiresOn: happens(20) ? oneOf(...days) : null, ...on };
      case 'hold':
        return { kind, amount: amount(), seconds: oneOf(60, 600), ...on };
      case 'capture':
        return { kind, hold: below(3), amount: happens(50) ? null : amount() };
      case 'void':
        return { kind, hold: below(3) };
      case 'reverse':
        return { kind, transfer: below(3), amount: happens(50) ? null : amount(), maySell: true };
      case 'update':
        return { kind, changes: changes(), releaseHolds: happens(60), ...on };
      case 'undo':
      case 'suspend':
      case 'resume':
        return { kind, ...on };
      case 'expire':
        return { kind };
    }
  };

  const preparation: Preparation[number][] = [];
  for (let card = 0; card < cards; card += 1) {
    preparation.push({ kind: 'issue', amount: 3_000n, expiresOn: null });
  }
  const before = Array.from({ length: 2 + below(6) }, () =>
    draw(oneOf('debit', 'credit', 'top_up', 'hold', 'hold', 'hold', 'capture', 'reverse'), false),
  );
  if (happens(60)) before.splice(below(before.length + 1), 0, draw('update', false));
  preparation.push(...before);
  if (happens(60))
    preparation.splice(cards + below(before.length + 1), 0, { kind: 'pass', seconds: pauseSeconds });
  const actions = Array.from({ length: 2 + below(4) }, () => draw(oneOf(...menu), true));
  return { preparation, contenders: actions.map(contender), actions };
}
