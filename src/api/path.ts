/** The ids in the paths of operations. */

import { parseExternalId, type ExternalKind } from '../core/domain/external-id.ts';
import type { RequestContext } from '../http/request-context.ts';

type PathId = {
  /** Whether callers know the id and could guess others. Events and webhooks have internal ids. */
  readonly isPublic: boolean;
  /** The kind of object, if its external id can be in the path: `external:{id}`. */
  readonly externalKind?: ExternalKind;
  readonly description: string;
  readonly example: number;
};

export const pathIds = {
  gift_card_id: {
    isPublic: true,
    description:
      'Identifier of the card. The server responds with 404 to anything that is not an id of this store.',
    example: 5966927867000173,
  },
  hold_id: {
    isPublic: true,
    externalKind: 'hold',
    description: 'Identifier of the hold, or `external:` and its external id, percent-encoded.',
    example: 5120448327156734,
  },
  transaction_id: {
    isPublic: true,
    externalKind: 'transaction',
    description: 'Identifier of the transaction, or `external:` and its external id, percent-encoded.',
    example: 6831190442975020,
  },
  customer_id: { isPublic: true, description: 'Identifier of the customer.', example: 7764160887464011 },
  event_id: { isPublic: false, description: 'Identifier of the event.', example: 244212359911 },
  batch_id: { isPublic: false, description: 'Identifier of the batch.', example: 244212380001 },
  stock_id: { isPublic: false, description: 'Identifier of the stock.', example: 244212390001 },
  location_id: { isPublic: false, description: 'Identifier of the location.', example: 244212380101 },
  webhook_id: { isPublic: false, description: 'Identifier of the webhook.', example: 244212370001 },
} as const satisfies Readonly<Record<string, PathId>>;

type PathIdName = keyof typeof pathIds;

/** The names in a path template: `/gift_card/:gift_card_id/debit` has `gift_card_id`. */
type NamesIn<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : P extends `${string}:${infer Name}`
    ? Name
    : never;

/** The internal ids that a path names. */
export type Ids<P extends string> = Readonly<Record<NamesIn<P> & PathIdName, number>>;

export function idNamesIn(path: string): readonly PathIdName[] {
  return [...path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => {
    if (!Object.hasOwn(pathIds, name)) throw new Error(`${path} has an unknown id: ${name}`);
    return name as PathIdName;
  });
}

export type ReadIds<P extends string> = {
  /** Null if the path has something that cannot be an id. */
  readonly ids: Ids<P> | null;
  /** Whether "not found" would say that a guessed id does not exist. */
  readonly isGuess: boolean;
  /** The external id in the path, whose object is not in `ids`. */
  readonly external: ExternalPath | null;
};

export type ExternalPath = { readonly name: string; readonly kind: ExternalKind; readonly text: string };

const externalStart = 'external:';

/** Matches an external id in a path, before it is percent-encoded. */
export const externalPathPattern = '^external:[\\x21-\\x7e]{1,255}$';

function externalIn(name: PathIdName, text: string): ExternalPath | null {
  const { externalKind: kind }: PathId = pathIds[name];
  if (!kind || !text.startsWith(externalStart)) return null;
  const parsed = parseExternalId(text.slice(externalStart.length));
  return parsed.ok && parsed.value !== null ? { name, kind, text: parsed.value } : null;
}

/** Reads the ids of a request with this path. */
export function idReader<P extends string>(
  path: P,
): (requestContext: Pick<RequestContext, 'request' | 'ctx' | 'caller'>) => ReadIds<P> {
  const names = idNamesIn(path);
  return ({ request, ctx, caller }) => {
    const params = request.params as Readonly<Record<string, string>>;
    const ids: Record<string, number> = {};
    let areKnown = true;
    let isGuess = false;
    let external: ExternalPath | null = null;
    for (const name of names) {
      const text = params[name] ?? '';
      external = externalIn(name, text);
      if (external) {
        // Callers that can read transactions and holds can look for them.
        isGuess ||= !caller.scopes.includes('read_gift_cards');
        continue;
      }
      const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
      const { isPublic } = pathIds[name];
      const id = isPublic ? ctx.keys.publicIds.read(number) : asInternal(number);
      if (id === undefined) areKnown = false;
      else ids[name] = id;
      isGuess ||= isPublic && id !== undefined;
    }
    return { ids: areKnown ? (ids as Ids<P>) : null, isGuess, external };
  };
}

function asInternal(number: number): number | undefined {
  return Number.isSafeInteger(number) ? number : undefined;
}
