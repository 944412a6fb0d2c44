/** Reading a request's parameters one by one, and gathering what is refused of them. */

import { Fault, type Refusals } from '../domain/fault.ts';
import type { Subject } from '../storage/storage.ts';
import { wrappers, type Body } from './body.ts';
import { matchedVersions } from './etag.ts';
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

/** The internal id of what the path names. @throws Fault `not-found` for anything that cannot be an id. */
export function idOf(exchange: Pick<Exchange, 'request' | 'ctx'>, name: string): number {
  const id = parseId(exchange, name);
  if (id === undefined) throw new Fault('not-found');
  return id;
}

/** Reads `If-Match` once the card is known, by its internal id. */
export function versionsOf({
  request,
  ctx,
}: Pick<Exchange, 'request' | 'ctx'>): (cardId: number) => readonly number[] | null {
  return (cardId) => matchedVersions(request.headers['if-match'], ctx.keys.publicIds.of(cardId));
}

/** The card that the path names, as what a write changes; undefined for anything that cannot be an id. */
export function subjectOf(exchange: Pick<Exchange, 'request' | 'ctx' | 'caller'>): Subject | undefined {
  const cardId = parseId(exchange, 'gift_card_id');
  return cardId === undefined ? undefined : { storeId: exchange.caller.store.id, cardId };
}

/** Whether the path names something by an id that could be guessed. What cannot be an id tells nothing. */
export function namesGuessableId(exchange: Pick<Exchange, 'request' | 'ctx'>): boolean {
  return guessableIds.some((name) => parseId(exchange, name) !== undefined);
}

/** Path parameters that name something by its public id alone. The others (events, webhooks) hold internal ids. */
export const guessableIds: readonly string[] = ['gift_card_id', 'hold_id', 'transaction_id', 'customer_id'];

function parseId(
  { request: { params }, ctx }: Pick<Exchange, 'request' | 'ctx'>,
  name: string,
): number | undefined {
  const text = (params as Readonly<Record<string, string>>)[name] ?? '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (guessableIds.includes(name)) return ctx.keys.publicIds.read(id);
  return Number.isSafeInteger(id) ? id : undefined;
}
