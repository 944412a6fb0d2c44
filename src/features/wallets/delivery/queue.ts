/** The queue of updates of cards in wallets. Each wallet of a store is a destination. */

import type { Context } from '../../../core/storage/context.ts';
import { writeByStore } from '../../../database/sql/by-store.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import type { ReadCache, Storage } from '../../../database/storage.ts';
import {
  claimUpdates,
  listDueWallets,
  releaseUpdate,
  removeCard,
  retryUpdate,
  settleUpdate,
  unregisterDevices,
  type ClaimedUpdate,
  type WalletPlace,
} from '../storage/card.ts';
import { hasWallets, recordWalletHealth, type Wallet } from '../storage/wallet.ts';
import { nextAttempt, webhookBackoff } from '../../../delivery/backoff.ts';
import type { ClaimedJobs, ClaimRoom, Queue, Sent, SentJob } from '../../../delivery/worker.ts';

/** The result of an update. */
export type UpdateResult =
  /** @param gone devices that no longer have the pass. */
  | { readonly kind: 'sent'; readonly gone?: readonly string[] }
  | {
      readonly kind: 'failed';
      /** A sentence for the store without a full stop. */
      readonly detail: string;
      readonly gone?: readonly string[];
      readonly retryAfterMs: number | null;
    }
  /** The card is not in the wallet. */
  | { readonly kind: 'removed' }
  /** The service stops. */
  | { readonly kind: 'cancelled' };

/** Sends the updates of a kind of wallet. Every failure is a result. */
export type UpdateSender = (
  wallet: Wallet,
  update: ClaimedUpdate,
  signal: AbortSignal,
) => Promise<UpdateResult>;

export type WalletQueueOptions = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly send: UpdateSender;
  /** Called when the updates of a wallet begin to fail. */
  readonly failed: (wallet: Wallet, detail: string) => void;
};

export type WalletJob = {
  readonly update: ClaimedUpdate;
  readonly wallet: Wallet;
  /** On the monotonic clock. */
  readonly startsUntil: number;
};

type Settled = UpdateResult & { readonly firstAt: number };

/** Longer than the pushes to all devices of a card, or the requests to Google, with time to record the result. */
const leaseMs = 60_000;
/** The longest time that a claimed job waits in this process before it starts. */
const startsWithinMs = 12_000;
const walletsAtOnceMax = 64;
const start: WalletPlace = { storeId: 0, kind: '' };

class WalletQueue implements Queue<WalletJob, Settled> {
  readonly name = 'wallets';
  readonly #options: WalletQueueOptions;
  /** Whether a store has a wallet, which is rare. */
  readonly #activity: ReadCache<boolean>;
  /** The last wallet of the last claim: the next claim continues after it, so that every wallet gets a turn. */
  #place = start;

  constructor(options: WalletQueueOptions) {
    this.#options = options;
    this.#activity = options.storage.cache({ entriesMax: 1 });
  }

  mayHaveJobs(): boolean {
    return this.#activity.findOwn('') !== false;
  }

  async claim({ limit, roomOf }: ClaimRoom): Promise<ClaimedJobs<WalletJob>> {
    const { ctx, storage } = this.#options;
    const wallets = await this.#due();
    let left = limit;
    const wanted = wallets.flatMap((wallet) => {
      const room = Math.min(roomOf(destinationOf(wallet)), left);
      left -= Math.max(0, room);
      return room > 0 ? [{ storeId: wallet.storeId, wallet, room }] : [];
    });
    const hasMorePlaces = this.#place !== start;
    const startsUntil = performance.now() + startsWithinMs;
    const batches: Batch[] = [];
    const committed = (claimed: readonly Batch[]): void => void batches.push(...claimed);
    await writeByStore({ storage, committed }, wanted, (ofStore) => claimAll(ctx, ofStore)).catch(
      (error: unknown) => {
        // The claims of other stores were committed.
        if (batches.length === 0) throw error;
      },
    );
    const claimed = batches.flatMap(({ wallet, updates }) =>
      updates.map((update) => ({
        job: { update, wallet, startsUntil },
        destination: destinationOf(wallet),
        startsThrottled: wallet.failingSince !== null,
      })),
    );
    const isFull = batches.some(({ updates, room }) => updates.length === room);
    return { claimed, hasMore: hasMorePlaces || (isFull && claimed.length > 0) };
  }

  async send({ update, wallet }: WalletJob, signal: AbortSignal): Promise<Sent<Settled>> {
    const { ctx, send } = this.#options;
    const firstAt = ctx.clock.latest();
    const result = await send(wallet, update, signal);
    return { result: { ...result, firstAt }, isHealthy: result.kind === 'sent' || result.kind === 'removed' };
  }

  async settle(sent: readonly SentJob<WalletJob, Settled>[]): Promise<void> {
    const { ctx, storage, failed } = this.#options;
    // In one order, so that two processes cannot deadlock.
    const settled = sent
      .map((each) => ({ ...each, storeId: each.job.wallet.storeId }))
      .toSorted((left, right) => left.job.update.cardId - right.job.update.cardId);
    await writeByStore({ storage }, settled, (ofStore) => settleAll(ctx, ofStore));
    for (const { job, result } of sent)
      if (result.kind === 'failed' && job.wallet.failingSince === null) failed(job.wallet, result.detail);
  }

  async release(jobs: readonly WalletJob[]): Promise<void> {
    const { ctx, storage } = this.#options;
    await writeByStore(
      { storage },
      jobs.map(({ update }) => update),
      function* release(ofStore) {
        for (const update of ofStore) yield* releaseUpdate(update, ctx.clock.earliest());
      },
    );
  }

  startsUntil(job: WalletJob): number {
    return job.startsUntil;
  }

  async #due(): Promise<readonly Wallet[]> {
    const { ctx, storage } = this.#options;
    if (!(this.#activity.find('') ?? (await this.#activity.read('', hasWallets)))) return [];
    const limit = walletsAtOnceMax;
    const after = this.#place;
    const found = await storage.read(() => listDueWallets(after, { now: ctx.clock.earliest(), limit }));
    this.#place = (found.length === limit ? found.at(-1) : undefined) ?? start;
    return found.length > 0 || after === start ? found : this.#due();
  }
}

export function walletQueue(options: WalletQueueOptions): Queue<WalletJob, Settled> {
  return new WalletQueue(options);
}

function destinationOf({ storeId, kind }: Pick<Wallet, 'storeId' | 'kind'>): string {
  return `${storeId} ${kind}`;
}

/** A wallet, and how many of its updates are claimed at most. */
type Wanted = { readonly wallet: Wallet; readonly room: number };
type Batch = Wanted & { readonly updates: readonly ClaimedUpdate[] };

function* claimAll(ctx: Context, wanted: readonly Wanted[]): Script<readonly Batch[]> {
  if (!(yield* mayClaim(ctx))) return [];
  const now = ctx.clock.earliest();
  const claim = { lease: ctx.random.id(), now, until: now + leaseMs };
  const claimed = yield* parallel(
    ...wanted.map(({ wallet: { storeId, kind }, room }) =>
      claimUpdates({ storeId, kind, limit: room }, claim),
    ),
  );
  return wanted.map(({ wallet, room }, place) => ({ wallet, room, updates: claimed[place] ?? [] }));
}

/** Records results, and whether the wallets work. */
function* settleAll(ctx: Context, sent: readonly SentJob<WalletJob, Settled>[]): Script<void> {
  const now = ctx.clock.earliest();
  for (const { job, result } of sent) yield* settleOne(ctx, job, result, now);
  const byWallet = Map.groupBy(sent, ({ job }) => destinationOf(job.wallet));
  for (const [, results] of [...byWallet].toSorted(([left], [right]) => left.localeCompare(right))) {
    const wallet = results[0]?.job.wallet;
    const tried = results.filter(({ result }) => result.kind !== 'cancelled');
    if (!wallet || tried.length === 0) continue;
    const failures = tried.flatMap(({ result }) => (result.kind === 'failed' ? [result.detail] : []));
    const failure = failures.length < tried.length ? null : (failures[0] ?? null);
    yield* recordWalletHealth(wallet, { failure, now });
  }
}

function* settleOne(ctx: Context, { update }: WalletJob, result: Settled, now: number): Script<void> {
  if (result.kind === 'cancelled') return yield* releaseUpdate(update, now);
  if (result.kind === 'removed') yield* removeCard(update);
  const nextAt = result.kind === 'failed' ? nextAfter(ctx, update, { ...result, now }) : null;
  // The update of a card is sent again after it was not accepted for three days, when the card changes.
  if (nextAt === null) yield* settleUpdate(update, now);
  else yield* retryUpdate(update, { firstAt: result.firstAt, nextAt });
  const { gone = [] } = result.kind === 'removed' ? {} : result;
  if (gone.length > 0) yield* unregisterDevices(update, gone);
}

/** When a failed update is tried again (ms); null: never. */
function nextAfter(
  ctx: Context,
  { attempts, firstAt: storedFirstAt }: ClaimedUpdate,
  {
    firstAt,
    now,
    retryAfterMs,
  }: { readonly firstAt: number; readonly now: number; readonly retryAfterMs: number | null },
): number | null {
  const [byte = 0] = ctx.random.bytes(1);
  const made = { made: attempts + 1, firstAt: storedFirstAt ?? firstAt };
  return nextAttempt(webhookBackoff, made, { now, random: byte / 256, retryAfterMs });
}
