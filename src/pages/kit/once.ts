/**
 * Changes that a form makes once. The server puts a random key into the form. A second submission, after a double click, a
 * reload or a lost connection, returns the result of the first one; the page of the result finds it by the key.
 */

import type { Context } from '../../core/storage/context.ts';
import { Fault } from '../../core/domain/fault.ts';
import {
  AlreadyProcessed,
  confirmStored,
  findStoredResponse,
  withIdempotencyKey,
} from '../../core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../core/requests/service/http-response.ts';
import type { Script } from '../../database/sql/sql.ts';
import { hidden } from './form.ts';
import type { Markup } from '../../platform/markup.ts';
import type { ConsoleServices } from './services.ts';
import type { StaffRequest } from './route.ts';

const keyField = 'key';

/** The hidden field of a form with a new key. @param key the key of a form that is shown again. */
export function keyInput({ random }: Context, key?: string): Markup {
  return hidden(keyField, key ?? Buffer.from(random.bytes(16)).toString('base64url'));
}

/** The key of a submitted form; undefined: the form was not made by the server. */
export function keyOf({ form }: Pick<StaffRequest, 'form'>): string | undefined {
  const key = form.get(keyField) ?? '';
  return isKey(key) ? key : undefined;
}

export function isKey(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

/** JSON values, which the result of a form consists of. A code in it is sealed. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export type Outcome<Result extends Json> = {
  readonly result: Result;
  /** Whether an earlier submission with the key made the change. Its fields can have been others. */
  readonly isRepeated: boolean;
};

function ownerOf({ signedIn: { session } }: Pick<StaffRequest, 'signedIn'>, key: string) {
  // A client cannot send a key with blanks.
  return { storeId: session.storeId, apiClientId: 0, key: `console ${session.staffId} ${key}` };
}

/**
 * Runs a script once for a key of this member of staff.
 * @throws the errors of the script, after which nothing has changed and the key can be used again.
 */
export async function runOnce<Result extends Json>(
  { ctx, storage }: Pick<ConsoleServices, 'ctx' | 'storage'>,
  request: Pick<StaffRequest, 'signedIn'>,
  key: string,
  script: () => Script<Result>,
): Promise<Outcome<Result>> {
  const use = { owner: ownerOf(request, key), request: 'console' };
  try {
    const response = await storage.write(() =>
      withIdempotencyKey(ctx, use, function* run() {
        return { status: 200, headers: {}, body: JSON.stringify(yield* script()) };
      }),
    );
    return { result: JSON.parse(response.body) as Result, isRepeated: false };
  } catch (error) {
    const response = await storedFor(error, () => storage.read(() => findStoredResponse(ctx, use.owner)));
    if (!response) throw error;
    await storage.write(() => confirmStored(ctx, use));
    return { result: JSON.parse(response.body) as Result, isRepeated: true };
  }
}

/** The stored response of a key, for which a submission failed. */
async function storedFor(
  error: unknown,
  find: () => Promise<HttpResponse | undefined>,
): Promise<HttpResponse | undefined> {
  if (error instanceof AlreadyProcessed) return error.response;
  // A submission at the same time can have made the change for which this one was rejected.
  return error instanceof Fault ? await find() : undefined;
}

/** Whether a submission with the key was made in the last 24 hours. */
export async function hasResult(
  services: Pick<ConsoleServices, 'ctx' | 'storage'>,
  request: Pick<StaffRequest, 'signedIn'>,
  key: string,
): Promise<boolean> {
  return (await storedResult(services, request, key)) !== undefined;
}

/**
 * The result of an earlier submission with the key; undefined: there was none in the last 24 hours.
 * @param isOwn whether it is a result of this form. The key of a URL can be that of another form of the person.
 */
export async function findResult<Result extends Json>(
  services: Pick<ConsoleServices, 'ctx' | 'storage'>,
  request: Pick<StaffRequest, 'signedIn'>,
  key: string,
  isOwn: (result: Json) => result is Result,
): Promise<Result | undefined> {
  const result = await storedResult(services, request, key);
  return result !== undefined && isOwn(result) ? result : undefined;
}

async function storedResult(
  { ctx, storage }: Pick<ConsoleServices, 'ctx' | 'storage'>,
  request: Pick<StaffRequest, 'signedIn'>,
  key: string,
): Promise<Json | undefined> {
  if (!isKey(key)) return undefined;
  const response = await storage.read(() => findStoredResponse(ctx, ownerOf(request, key)));
  return response && (JSON.parse(response.body) as Json);
}

/** A result that is recognized by its fields, because no other form has all of them. */
export function hasFields<Result extends Json>(
  ...fields: readonly (keyof Result & string)[]
): (result: Json) => result is Result {
  return (result): result is Result =>
    typeof result === 'object' && result !== null && fields.every((field) => Object.hasOwn(result, field));
}
