/** Undoes a redemption by its ledger entry: for managers. The result page undoes a person's own redemption. */

import { Fault } from '../domain/fault.ts';
import type { Transfer } from '../domain/ledger.ts';
import { markup } from '../markup.ts';
import { undoRedemption } from '../service/redemption.ts';
import { findCardState } from '../storage/card.ts';
import { parallel } from '../storage/sql.ts';
import { findTransfer, sumReversals } from '../storage/transfer.ts';
import { alert } from './form.ts';
import { cardTail, figure } from './format.ts';
import { keyInput, keyOf, runOnce } from './once.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { fill } from './texts.ts';
import { framed, tillTexts } from './till-frame.ts';
import { undoError, undoneShown } from './till-result.ts';
import { readId } from './ids.ts';

type Redemption = { readonly transfer: Transfer; readonly reversed: bigint; readonly tail: string };

/** @throws Fault `not-found` if the path does not have the id of a redemption. */
async function requireRedemption(services: ConsoleServices, request: StaffRequest): Promise<Redemption> {
  const { ctx, storage } = services;
  const { store } = request.signedIn;
  const id = readId(services, request.params['entry']);
  if (id === undefined) throw new Fault('not-found');
  const [transfer, reversed] = await storage.read(() =>
    parallel(findTransfer(store.id, id), sumReversals(store.id, id)),
  );
  if (transfer?.kind !== 'debit') throw new Fault('not-found');
  const key = { storeId: store.id, cardId: transfer.cardId };
  const state = await storage.read(() => findCardState(key, ctx.clock.earliest()));
  return { transfer, reversed, tail: state?.card.lastCharacters ?? '' };
}

function undoPage(
  services: ConsoleServices,
  request: StaffRequest,
  { redemption, error }: { readonly redemption: Redemption; readonly error?: string },
): ConsoleResponse {
  const { ctx, frame } = services;
  const text = tillTexts(request);
  const { transfer, reversed, tail: lastCharacters } = redemption;
  const tail = cardTail(lastCharacters);
  const amount = figure(transfer.amount, request.language);
  if (reversed >= transfer.amount.minor) return undoneShown(services, request, { amount, tail });
  const body = markup`${error === undefined ? undefined : alert(error)}<div class="paid wait"><div>${amount}</div><p><strong>${fill(text.redeemedFrom, { tail })}</strong></p></div>
<form class="stack" method="post" action="${frame.basePath}/till/undo/${ctx.keys.publicIds.of(transfer.id)}">${keyInput(ctx)}<button class="button bad big">${text.undo}</button></form>`;
  const status = error === undefined ? 200 : 422;
  return { status, body: framed(services, request, { title: text.undo, body }) };
}

async function submitUndo(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { store, member, session } = request.signedIn;
  const redemption = await requireRedemption(services, request);
  const key = keyOf(request);
  const { id: transferId } = redemption.transfer;
  const path = `/till/undo/${ctx.keys.publicIds.of(transferId)}`;
  if (key === undefined) return seeOther(path);
  try {
    await runOnce(services, request, key, function* run() {
      const { tillId } = session;
      const { transfer } = yield* undoRedemption(ctx, { store, member, tillId, transferId });
      return { state: 'undone', entry: ctx.keys.publicIds.of(transfer.id) };
    });
    return seeOther(path);
  } catch (error) {
    const text = error instanceof Fault ? undoError(request, error) : undefined;
    if (text === undefined) throw error;
    return undoPage(services, request, { redemption, error: text });
  }
}

export const tillUndoRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/till/undo/:entry',
    access: 'changeCards',
    handle: async (services, request) =>
      undoPage(services, request, { redemption: await requireRedemption(services, request) }),
  },
  { method: 'POST', path: '/till/undo/:entry', access: 'changeCards', handle: submitUndo },
];
