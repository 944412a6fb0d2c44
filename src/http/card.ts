/** The four operations over HTTP: parameters in, one script, an answer out. */

import type { Card } from '../domain/card.ts';
import type { EmailAddress } from '../domain/email.ts';
import { Fault, Refusals } from '../domain/fault.ts';
import { claimableFields, isIdField, recordOf, type ClaimableField } from '../domain/record.ts';
import type { SendOn } from '../domain/send-on.ts';
import { issue, refuseIssue, retrieve, search, update } from '../service/card.ts';
import type { Answer } from '../service/idempotency.ts';
import { findMailSettings } from '../storage/mail.ts';
import { constant, together } from '../storage/sql.ts';
import type { Body } from './body.ts';
import { cardEtagOf, isKnown, notModified } from './etag.ts';
import type { Exchange } from './exchange.ts';
import * as parameters from './parameters.ts';
import { idOf, reader, refuseOthers, subjectOf, unknownParameter, versionsOf } from './reading.ts';

/** `POST /gift_card` */
export async function postCard(exchange: Exchange): Promise<Answer> {
  const { ctx, caller, basePath } = exchange;
  const { store } = caller;
  const refusals = new Refusals();
  const body = exchange.readBody('gift_card', refusals);
  const read = reader(body, { store, now: ctx.clock.now(), isForm: body.isForm }, refusals);

  const value = read('initial_value', parameters.initialValue);
  const expiresOn = read('expires_on', parameters.expiresOnOrLater) ?? null;
  const customer = read('email', parameters.email) ?? null;
  const recipient = read('recipient_email', parameters.recipientEmail) ?? null;
  const note = read('note', parameters.note) ?? null;
  const message = read('message', parameters.message) ?? null;
  const storefrontCustomerId = read('storefront_customer_id', parameters.storefrontCustomerId) ?? null;
  const code = read('code', parameters.code) ?? null;
  const sendOn = read('send_on', parameters.sendOn) ?? null;
  const isWanted = read('notify', parameters.notify) ?? true;
  const isMailed = isWanted && exchange.canSend;
  const isUnsent = isWanted && !exchange.canSend && (recipient ?? customer) !== null;
  read('currency', parameters.currency);
  if (sendOn) {
    const refusal = refuseSendOn(sendOn, { isMailed, holder: recipient ?? customer, expiresOn });
    if (refusal !== null) refusals.add('send_on', refusal);
  }
  if (storefrontCustomerId !== null && !customer && !refusals.has('email'))
    refusals.add('storefront_customer_id', 'cannot be set without email');
  refuseOthers(body, refusals, {
    known: creationParameters,
    // A field of the record that a creation cannot set may be sent along as null.
    isHarmless: (name, sent) => recordFields.has(name) && sent === null,
    refusalOf: (name) => (recordFields.has(name) ? 'cannot be set' : unknownParameter),
  });

  // The response says whether the store has used the code. A creation that issues no card is a lookup.
  if (code)
    await exchange.lookup.reserve((status) => status === 422 || (status === 201 && exchange.isDryRun));
  // Of an address that is new, or a code that is chosen, somebody else may be making the row, too.
  const isOwn = !customer && !recipient && !code;
  const subject = isOwn ? { storeId: store.id, cardId: null } : undefined;
  const created = await exchange.write(
    body,
    function* () {
      if (refusals.any || value === undefined)
        return yield* refuseIssue(ctx, { store, code, customer, storefrontCustomerId, refusals });
      const { apiClientId, actor } = caller;
      const issuing = issue(ctx, {
      store, apiClientId, actor, value, expiresOn, customer, storefrontCustomerId, recipient, note, message, code,
      ...(isMailed && { mails: { sendAt: sendOn?.at ?? null } }),
    }); // prettier-ignore
      const [settings, issued] = yield* together(
        isUnsent ? findMailSettings(store.id) : constant(undefined),
        issuing,
      );
      const { publicIds } = ctx.keys;
      const record = recordOf(publicIds, issued.card);
      const headers = {
        etag: cardEtagOf(publicIds, issued.card),
        location: `${basePath}/gift_card/${record.id}`,
        ...(settings?.enabled && unsent),
      };
      return answer(201, { ...record, code: issued.code.reveal() }, headers);
    },
    subject,
  );
  if ('email-status' in created.headers && !exchange.isDryRun) exchange.noteUnsent(store);
  return created;
}

/** Says that the card would have been emailed, but the service has no mail server. */
const unsent = { 'email-status': 'not-configured' } as const;

/** Why a time for the mail cannot be kept beside the rest of the creation; null if it can. */
function refuseSendOn(
  { day }: SendOn,
  {
    isMailed,
    holder,
    expiresOn,
  }: {
    readonly isMailed: boolean;
    readonly holder: EmailAddress | null;
    readonly expiresOn: string | null;
  },
): string | null {
  if (!isMailed) return 'cannot be kept: no mail is sent';
  if (!holder) return 'needs a recipient_email or an email';
  return expiresOn !== null && day > expiresOn ? 'must not be after expires_on' : null;
}

/** `GET /gift_card/{gift_card_id}` */
export async function getCard(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const card = await storage.read(() => retrieve(caller.store.id, idOf(exchange, 'gift_card_id')));
  return answerUnlessKnown(exchange, card);
}

/** `GET /gift_card?last_characters=…&email=…` */
export async function searchCard(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller, query } = exchange;
  const { store, onlyStorefrontCustomerId } = caller;
  const refusals = new Refusals();
  const sent: Body = { parameters: new Map(query.filter(([, value]) => value !== '')), isForm: true };
  const read = reader(sent, { store, now: ctx.clock.now(), isForm: true }, refusals);
  const lastCharacters = read('last_characters', parameters.searchedCharacters);
  const address = read('email', parameters.searchedEmail);
  refusals.throwIfAny();
  if (lastCharacters === undefined || address === undefined)
    throw new Error('a parameter is missing, unrefused');

  const card = await storage.read(() =>
    search(ctx, { store, address, lastCharacters, onlyStorefrontCustomerId }),
  );
  if (!card) throw new Fault('not-found');
  return answerUnlessKnown(exchange, card);
}

/** `PUT /gift_card/{gift_card_id}` */
export async function putCard(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { store, actor } = caller;
  const refusals = new Refusals();
  const body = exchange.readBody('gift_card', refusals);
  const read = reader(body, { store, now: ctx.clock.now(), isForm: body.isForm }, refusals);

  const changes = withoutAbsent({
    disable: read('disable', parameters.disable),
    balance: read('balance', parameters.balance),
    expiresOn: read('expires_on', parameters.expiresOn),
    note: read('note', parameters.note),
  });
  const releaseHolds = read('release_holds', parameters.releaseHolds) ?? false;
  const claims = new Map<ClaimableField, unknown>(
    claimableFields.flatMap((field) => (body.parameters.has(field) ? [[field, claimOf(body, field)]] : [])),
  );
  const claimedCode = read('code', parameters.code) ?? null;
  refuseOthers(body, refusals, {
    known: updateParameters,
    isHarmless: () => false,
    refusalOf: () => unknownParameter,
  });

  // The response says whether the card has the code.
  if (claimedCode) await exchange.lookup.reserve((status) => status === 422);
  return exchange.write(
    body,
    function* () {
      const cardId = idOf(exchange, 'gift_card_id');
      const versions = versionsOf(exchange)(cardId);
      const card = yield* update(ctx, {
        store,
        cardId,
        actor,
        changes,
        releaseHolds,
        claims,
        claimedCode,
        versions,
        refusals,
      });
      const { publicIds } = ctx.keys;
      return answer(200, recordOf(publicIds, card), { etag: cardEtagOf(publicIds, card) });
    },
    subjectOf(exchange),
  );
}

const recordFields: ReadonlySet<string> = new Set(['balance', ...claimableFields]);
const creationParameters: ReadonlySet<string> = new Set(Object.keys({
  initial_value: 0, expires_on: 0, email: 0, recipient_email: 0, note: 0, message: 0, code: 0, currency: 0,
  send_on: 0, notify: 0, storefront_customer_id: 0,
})); // prettier-ignore
const updateParameters: ReadonlySet<string> = new Set([
  'disable',
  'balance',
  'expires_on',
  'note',
  'release_holds',
  'code',
  ...claimableFields,
]);

/** A claim as JSON has it: an id is an integer, which a form writes in digits. */
function claimOf({ parameters: sent, isForm }: Body, field: ClaimableField): unknown {
  const claim = sent.get(field);
  return isForm && isIdField(field) && typeof claim === 'string' ? parameters.integerFromForm(claim) : claim;
}

type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined, so that absent means absent. */
function withoutAbsent<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>;
}

function answerUnlessKnown({ request, ctx: { keys } }: Exchange, card: Card): Answer {
  const etag = cardEtagOf(keys.publicIds, card);
  if (isKnown(request.headers['if-none-match'], etag)) return notModified(etag);
  return answer(200, recordOf(keys.publicIds, card), { etag });
}

/** An answer that holds one card's record. */
function answer(status: number, record: object, headers: Readonly<Record<string, string>>): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ gift_card: record }),
  };
}
