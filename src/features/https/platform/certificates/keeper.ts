/** Keeps a certificate of an authority: loads the stored one, obtains the first one, renews it, and repeats failed attempts. */

import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { readRenewalWindow, type RenewalWindow } from '../acme/client.ts';
import { renewalIdOf } from '../acme/der.ts';
import { AcmeProblem, explainProblem } from '../acme/problem.ts';
import { periodProblem, readCertificate, type Certificate } from './certificate.ts';
import type { StoredCertificate, StoredState } from './folder.ts';
import { issueCertificate, type IssueOptions } from './issue.ts';
import { isPlausibleRetry, nextWindowMs, renewalAt, retryMs, windowAgeMs } from './renewal.ts';

export type KeeperOptions = IssueOptions & {
  /** Null: another process obtains a certificate now. */
  readonly tryLock: () => Disposable | null;
  readonly logger: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
  /** Called with the stored certificate, and with each new one. */
  readonly adopted: (certificate: Certificate, stored: Pick<StoredCertificate, 'renewals'>) => void;
};

/** The longest sleep of the loop, because timers stop while the machine is suspended. */
const turnMaxMs = 60_000;
/** The period of checks whether another process has obtained the certificate. */
const otherProcessMs = 1_000;

type WindowReading = { readonly value: RenewalWindow | null; readonly readAgainAt: number };

export class CertificateKeeper implements AsyncDisposable {
  /** Resolves when there is a certificate, or the first attempt has failed. */
  readonly settled: Promise<void>;
  readonly #options: KeeperOptions;
  readonly #stopping = new AbortController();
  readonly #settle: () => void;
  readonly #running: Promise<void>;
  /** Ms since 1970 UTC. */
  readonly #startedAt: number;
  #state: StoredState | null = null;
  #current: { readonly certificate: Certificate; readonly stored: StoredCertificate } | null = null;
  #window: WindowReading | null = null;

  /** Starts to keep it. Disposing ends an attempt in progress, which the next start continues. */
  constructor(options: KeeperOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settled = promise;
    this.#settle = resolve;
    this.#startedAt = options.clock.now();
    this.#running = this.#run();
  }

  get state(): StoredState | null {
    return this.#state;
  }

  /** The proof for a token that the authority requests; null: there is none. */
  async proofOf(token: string): Promise<string | null> {
    const published = await this.#options.folder.read('proof').catch(() => null);
    return published?.token === token ? published.proof : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { folder, clock, logger } = this.#options;
    const { signal } = this.#stopping;
    const stored = await folder.read('state').catch(() => null);
    // An attempt that the authority has not counted is repeated at once: the owner may have corrected the cause.
    const mustWait = stored?.failure?.isCounted === true && isPlausibleRetry(stored.nextAt, clock.now());
    this.#state = stored && !mustWait ? { ...stored, nextAt: null } : stored;
    while (!signal.aborted) {
      const pauseMs = await this.#turn().catch((error: unknown) => {
        if (!signal.aborted) logger.error({ err: error }, 'the certificate could not be stored');
        this.#settle();
        return turnMaxMs;
      });
      const boundedMs = Math.min(Math.max(pauseMs, 1), turnMaxMs);
      await wait(boundedMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Does what is due. Returns how long nothing is due, in ms. */
  async #turn(): Promise<number> {
    const { clock, folder } = this.#options;
    await this.#load();
    if (this.#current && periodProblem(this.#current.certificate, clock.now()) === undefined) this.#settle();
    const due = await this.#dueAt();
    const now = clock.now();
    const nextAt = Math.max(due, this.#retryAt(now));
    if (now < nextAt) return nextAt - now;
    using lock = this.#options.tryLock();
    if (!lock) return otherProcessMs;
    // Another process can have obtained it, or have failed, before this one had the lock.
    const before = this.#current;
    await this.#load();
    if (this.#current !== before) return 0;
    const stored = await folder.read('state').catch(() => null);
    if (stored?.kind === 'failing' && stored.at > (this.#state?.at ?? this.#startedAt)) {
      this.#state = stored;
      this.#settle();
      return Math.max(this.#retryAt(now) - now, 0);
    }
    try {
      await this.#obtain();
      this.#settle();
    } catch (error) {
      if (this.#stopping.signal.aborted) throw error;
      await this.#fail(error);
    }
    return 0;
  }

  /** When a failed attempt is repeated, ms since 1970 UTC; 0: none has failed. */
  #retryAt(now: number): number {
    const retryAt = this.#state?.nextAt ?? null;
    return isPlausibleRetry(retryAt, now) ? (retryAt ?? 0) : 0;
  }

  /** Uses the stored certificate if it is not the present one. */
  async #load(): Promise<void> {
    const { folder, logger } = this.#options;
    try {
      const stored = await folder.read('certificate');
      if (stored && stored.chain !== this.#current?.stored.chain) this.#adopt(stored);
    } catch (error) {
      // Without a usable certificate, a new one is obtained.
      logger.error({ err: error }, 'the stored certificate cannot be used');
    }
  }

  #adopt(stored: StoredCertificate): void {
    const certificate = readCertificate(stored, this.#options.domain);
    this.#current = { certificate, stored };
    this.#window = null;
    this.#options.adopted(certificate, stored);
  }

  /** When a certificate has to be obtained: now, if there is none of this authority. */
  async #dueAt(): Promise<number> {
    const { clock, directory } = this.#options;
    const now = clock.now();
    if (!this.#current) return now;
    const { certificate, stored } = this.#current;
    if (stored.directory !== directory || periodProblem(certificate, now) !== undefined) return now;
    let window = this.#window;
    if (!window || now >= window.readAgainAt)
      window = await this.#readWindow(stored.chain, window?.value ?? null);
    this.#window = window;
    return renewalAt(certificate, window.value);
  }

  async #readWindow(chain: string, last: RenewalWindow | null): Promise<WindowReading> {
    const { clock, logger } = this.#options;
    const id = renewalIdOf(chain);
    try {
      const signal = this.#stopping.signal;
      const value = id === null ? null : await readRenewalWindow({ ...this.#options, signal }, id);
      if (value?.explanation !== undefined && value.explanation !== last?.explanation)
        logger.warn(
          { explanation: value.explanation },
          'the authority explains when the certificate is renewed',
        );
      return { value, readAgainAt: clock.now() + nextWindowMs(value) };
    } catch {
      // The lifetime decides then, and an attempt to renew reports the failure.
      return { value: last, readAgainAt: clock.now() + windowAgeMs };
    }
  }

  async #obtain(): Promise<void> {
    const { clock, domain, logger } = this.#options;
    const startedAt = clock.monotonic();
    const failures = this.#state?.failures ?? 0;
    const none = { failure: null, nextAt: null };
    const stored = await issueCertificate(this.#options, {
      replaced: this.#current?.stored ?? null,
      begin: (step) => this.#write({ ...none, ...step, kind: 'asking', failures, tookMs: null }),
      signal: this.#stopping.signal,
    });
    this.#adopt(stored);
    const tookMs = Math.round(clock.monotonic() - startedAt);
    await this.#write({ ...none, kind: 'valid', step: 'order', isReached: true, failures: 0, tookMs });
    const until = this.#current?.certificate.until ?? 0;
    logger.info(
      { domain, until: new Date(until).toISOString(), duration_ms: tookMs },
      stored.renewals === 0 ? 'the certificate was issued' : 'the certificate was renewed',
    );
  }

  async #fail(error: unknown): Promise<void> {
    const { clock, domain, logger, random } = this.#options;
    const { type, why } = explainProblem(error, domain);
    const {
      step,
      isReached,
      failures: before,
    } = this.#state ?? { step: 'dns', isReached: false, failures: 0 };
    const failures = before + 1;
    const retryAfterMs = error instanceof AcmeProblem ? error.retryAfterMs : null;
    const byte = random.bytes(1)[0] ?? 0;
    const nextAt = clock.now() + retryMs(failures, { random: byte / 256, retryAfterMs });
    const cause = error instanceof Error ? error.message : String(error);
    logger.error({ domain, problem: type, cause, failures, next: new Date(nextAt).toISOString() }, why);
    const failure = { type, why, isCounted: error instanceof AcmeProblem && step === 'order' };
    await this.#write({ kind: 'failing', step, isReached, tookMs: null, failures, failure, nextAt });
    this.#settle();
  }

  async #write(next: Omit<StoredState, 'at'>): Promise<void> {
    this.#state = { ...next, at: this.#options.clock.now() };
    await this.#options.folder.write('state', this.#state);
  }
}
