/** Undoes a redemption by its ledger entry: for managers. The result page undoes a person's own redemption. */

import { Fault } from '../../domain/fault.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import { markup } from '../../platform/markup.ts';
import { undoRedemption } from '../../service/staff-actions/redemption.ts';
import { findCardState } from '../../storage/cards/card.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { findTransfer, sumReversals } from '../../storage/money/transfer.ts';
import { alert } from '../kit/form.ts';
import { cardTail, figure } from '../kit/format.ts';
import { readById } from '../kit/lookups.ts';
import { keyInput, keyOf, runOnce } from '../kit/once.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill } from '../kit/texts.ts';
import { tillTexts } from './frame.ts';
import { tillPage } from './page.ts';
import { undoError, undoneShown } from './result.ts';

type Redemption = { readonly transfer: Transfer; readonly reversed: bigint; readonly tail: string };

/** @throws Fault `not-found` if it is not the id of a redemption. */
function* findDebit(storeId: number, id: number): Script<Omit<Redemption, 'tail'>> {
  const [transfer, reversed] = yield* parallel(findTransfer(storeId, id), sumReversals(storeId, id));
  if (transfer?.kind !== 'debit') throw new Fault('not-found');
  return { transfer, reversed };
}

/** @throws Fault `not-found` if the path does not have the id of a redemption. */
async function requireRedemption(services: ConsoleServices, request: StaffRequest): Promise<Redemption> {
  const { ctx, storage } = services;
  const { store } = request.signedIn;
  const { transfer, reversed } = await readById(services, request, (id) => findDebit(store.id, id), 'entry');
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
  return { status, body: tillPage(services, request, { title: text.undo, body }) };
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
