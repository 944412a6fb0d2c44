/** Reading a request's parameters one by one, and gathering what is refused of them. */

import { Fault, type Refusals } from '../domain/fault.ts';
import type { Subject } from '../storage/storage.ts';
import { wrappers, type Body } from './body.ts';
import type { Exchange } from './exchange.ts';
import { required, type Parameter, type Reading } from './parameters.ts';

export const unknownParameter = 'is not a known parameter';

/** Reads parameters one by one: undefined where a parameter is absent, or refused and noted. */
export function reader({ parameters: sent }: Body, reading: Reading, refusals: Refusals) {
  return <T>(name: string, { isRequired, read }: Parameter<T>): T | undefined => {
    if (!sent.has(name)) {
      if (isRequired && !wrappers.some((wrapper) => refusals.has(wrapper))) refusals.add(name, required);
      return undefined;
    }
    const parsed = read(sent.get(name), reading);
    if (parsed.ok) return parsed.value;
    refusals.add(name, parsed.refusal);
    return undefined;
  };
}

export function refuseOthers(
  { parameters: sent }: Body,
  refusals: Refusals,
  rules: {
    readonly known: ReadonlySet<string>;
    readonly isHarmless: (name: string, value: unknown) => boolean;
    readonly refusalOf: (name: string) => string;
  },
): void {
  for (const [name, value] of sent) {
    if (!rules.known.has(name) && !rules.isHarmless(name, value)) refusals.add(name, rules.refusalOf(name));
  }
}

/** The id that the path names. @throws Fault `not-found` for anything that cannot be an id. */
export function idOf({ request }: Pick<Exchange, 'request'>, name: string): number {
  const id = parseId(request, name);
  if (id === undefined) throw new Fault('not-found');
  return id;
}

/** The card that the path names, as what a write changes; undefined for anything that cannot be an id. */
export function subjectOf({ request, caller }: Pick<Exchange, 'request' | 'caller'>): Subject | undefined {
  const cardId = parseId(request, 'gift_card_id');
  return cardId === undefined ? undefined : { storeId: caller.store.id, cardId };
}

/** Whether the path names something by an id that could be guessed. What cannot be an id tells nothing. */
export function namesGuessableId(request: Exchange['request']): boolean {
  return guessableIds.some((name) => parseId(request, name) !== undefined);
}

/** Path parameters that name something by its id alone. */
export const guessableIds: readonly string[] = ['gift_card_id', 'hold_id', 'transaction_id', 'customer_id'];

function parseId({ params }: Exchange['request'], name: string): number | undefined {
  const text = (params as Readonly<Record<string, string>>)[name] ?? '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
