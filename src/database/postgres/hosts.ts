/**
 * The hosts of a database URL, one of which is the primary.
 *
 * Every connection's server is checked. With several hosts, all are queried before the first connection, after
 * a lost connection, and every few seconds. The server on the newest timeline is used; connections to others
 * are closed.
 */

import type { Secret } from '../../platform/secret.ts';
import type { Timeline, TimelineFile } from '../../platform/timeline-file.ts';
import { openSession, type Opened, type Session, type SessionOptions } from './session.ts';
import {
  describeHost,
  primaryOf,
  reasonAgainst,
  serversOf,
  type PrimaryServer,
  type WritableHost,
} from './primary.ts';
import type { StorageObserver } from '../storage.ts';

export type HostOptions = Omit<SessionOptions, 'url' | 'sessionsKeptBy'> & {
  /** One URL per host. */
  readonly urls: readonly Secret[];
  /** Stores the newest timeline; absent: in memory only. */
  readonly timelines?: TimelineFile;
  readonly observer: StorageObserver;
};

/** No host is a usable primary. The message states the reason for each host, without passwords. */
class NoPrimary extends Error {
  override readonly name = 'NoPrimary';

  constructor(reasons: readonly (readonly [Secret, string])[]) {
    const hosts = reasons.map(([url, reason]) => `${hostOf(url)}: ${reason}`);
    super(`no server accepts writes: ${hosts.join('; ')}`);
  }
}

export type Hosts = {
  readonly areSeveral: boolean;
  /** Connects to the primary. @throws NoPrimary */
  connect(): Promise<Session>;
  /** Finds the primary in the background. */
  check(): void;
};

/** The wait for the other hosts after the first one has responded. */
const othersWaitMaxMs = 1_000;

type Asked =
  { readonly url: Secret; readonly opened: Opened } | { readonly url: Secret; readonly reason: string };
type Writable = WritableHost & { readonly url: Secret };

class CheckedHosts implements Hosts {
  readonly areSeveral: boolean;
  readonly #options: HostOptions;
  /** Open connections and their servers. */
  readonly #sessions = new Map<Session, PrimaryServer>();
  readonly #sessionsKeptBy = new Set<Secret>();
  #seen: Timeline | undefined;
  /** Resolves when the newest timeline is durable; undefined: not recorded yet. */
  #recorded: Promise<void> | undefined;
  /** The current primary, with several hosts. */
  #current: Writable | undefined;
  /** Number of lost connections to the primary. */
  #losses = 0;
  /** Whether no connection was lost since all hosts were queried. */
  #isSettled = false;
  #looking: Promise<void> | undefined;

  /** @throws TimelineFileError */
  constructor(options: HostOptions) {
    this.#options = options;
    this.areSeveral = options.urls.length > 1;
    this.#seen = options.timelines?.read();
  }

  async connect(): Promise<Session> {
    if (this.areSeveral && !this.#isSettled) await this.#settle();
    const url = this.#current?.url ?? this.#options.urls[0];
    if (!url) throw new NoPrimary([]);
    try {
      return await this.#connectTo(url);
    } catch (error) {
      this.#isSettled = false;
      throw new NoPrimary([[url, reasonOf(error)]]);
    }
  }

  check(): void {
    this.#settle().catch(() => undefined);
  }

  #open(url: Secret): Promise<Opened> {
    return openSession({ ...this.#options, url, sessionsKeptBy: this.#sessionsKeptBy });
  }

  /**
   * Reads the timeline that other processes have recorded. A file damaged since the start only causes a
   * warning.
   */
  #refresh(): void {
    try {
      const found = this.#options.timelines?.read();
      if (
        found &&
        (!this.#seen || (found.system === this.#seen.system && found.timeline > this.#seen.timeline))
      )
        this.#raise(found);
    } catch (error) {
      this.#options.observer.warned?.(
        'the timeline file cannot be read; the newest timeline is known in memory only',
        error,
      );
    }
  }

  #raise(newest: Timeline): void {
    this.#seen = newest;
    this.#abandon(({ timeline }) => timeline < newest.timeline);
  }

  /** Closes connections immediately, including those in use. */
  #abandon(isOutdated: (server: PrimaryServer) => boolean): void {
    for (const [session, server] of this.#sessions) if (isOutdated(server)) session.destroy();
  }

  #reasonNotToUse(server: PrimaryServer | null): string | undefined {
    if (server) return reasonAgainst(server, this.#seen, this.#options.timelines?.path);
    if (!this.areSeveral && !this.#seen) return undefined;
    return 'the role may not see the timeline of the server: grant it execute on the functions pg_control_system(), pg_current_wal_lsn() and pg_walfile_name(pg_lsn)';
  }

  /**
   * Records a server's timeline before anything is written to the server.
   * @throws Error if the server must not be used.
   */
  async #admit(server: PrimaryServer | null): Promise<void> {
    this.#refresh();
    const reason = this.#reasonNotToUse(server);
    if (reason !== undefined) throw new Error(reason);
    if (!server) return;
    const { system, timeline } = server;
    const isNewer = !this.#seen || timeline > this.#seen.timeline;
    if (isNewer) this.#raise({ system, timeline });
    if (isNewer || !this.#recorded) this.#recorded = this.#record({ system, timeline });
    await this.#recorded;
  }

  async #record(timeline: Timeline): Promise<void> {
    try {
      await this.#options.timelines?.record(timeline);
    } catch (error) {
      this.#options.observer.warned?.(
        'the timeline file cannot be written; after a restart an old primary could be taken for the current one',
        error,
      );
    }
  }

  async #connectTo(url: Secret): Promise<Session> {
    const { session, server } = await this.#open(url);
    if (server) this.#sessions.set(session, server);
    session.onEnd(() => {
      this.#sessions.delete(session);
      if (!session.isLost || !server || !this.#current || !isSameServer(server, this.#current.server)) return;
      this.#losses += 1;
      this.#isSettled = false;
      this.check();
    });
    try {
      await this.#admit(server);
      return session;
    } catch (error) {
      session.destroy();
      throw error;
    }
  }

  /** Queries all hosts for the primary. @throws NoPrimary */
  async #look(): Promise<void> {
    const lossesBefore = this.#losses;
    const found = await askAll(this.#options.urls, (url) => this.#open(url));
    try {
      this.#refresh();
      await this.#choose(found);
      this.#isSettled = this.#losses === lossesBefore;
    } catch (error) {
      this.#isSettled = false;
      throw error;
    } finally {
      for (const asked of found) if ('opened' in asked) leave(asked.opened.session);
    }
  }

  async #choose(found: readonly Asked[]): Promise<void> {
    const writable: Writable[] = [];
    const usable: Writable[] = [];
    const reasons: (readonly [Secret, string])[] = [];
    for (const asked of found) {
      const { url } = asked;
      if (!('opened' in asked)) {
        reasons.push([url, asked.reason]);
        continue;
      }
      const { server } = asked.opened;
      const host = server && { host: hostOf(url), url, server };
      if (host) writable.push(host);
      const reason = this.#reasonNotToUse(server);
      if (reason !== undefined) reasons.push([url, reason]);
      else if (host) usable.push(host);
    }
    this.#options.observer.primariesFound?.(serversOf(writable).map(describeHost));
    if (usable.length === 0) throw new NoPrimary(reasons);
    const primary = primaryOf(usable, this.#current?.host);
    if (!primary) {
      const all = usable.map(
        ({ url, server }) =>
          [
            url,
            `accepts writes on timeline ${server.timeline} of the cluster ${server.system}, as another host does`,
          ] as const,
      );
      throw new NoPrimary([...all, ...reasons]);
    }
    await this.#admit(primary.server);
    this.#current = primary;
    this.#abandon((server) => !isSameServer(server, primary.server));
  }

  #settle(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }
}

/** @throws TimelineFileError */
export function openHosts(options: HostOptions): Hosts {
  return new CheckedHosts(options);
}

/**
 * Connects to all hosts concurrently. A host that does not respond delays the result by at most
 * `othersWaitMaxMs`.
 */
function askAll(urls: readonly Secret[], open: (url: Secret) => Promise<Opened>): Promise<readonly Asked[]> {
  return new Promise((resolve) => {
    const found = new Map<Secret, Asked>();
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const finish = (): void => {
      isOver = true;
      clearTimeout(timer);
      const late = `no response within ${othersWaitMaxMs} ms of the first`;
      resolve(urls.map((url) => found.get(url) ?? { url, reason: late }));
    };
    const note = (asked: Asked): void => {
      found.set(asked.url, asked);
      if (found.size === urls.length) finish();
    };
    for (const url of urls) {
      open(url).then(
        (opened) => {
          if (isOver) return leave(opened.session);
          timer ??= setTimeout(finish, othersWaitMaxMs);
          note({ url, opened });
        },
        (error: unknown) => {
          if (!isOver) note({ url, reason: reasonOf(error) });
        },
      );
    }
  });
}

/** Closes a connection in the background. */
function leave(session: Session): void {
  session.close().catch(() => undefined);
}

function isSameServer(one: PrimaryServer, other: PrimaryServer): boolean {
  return one.system === other.system && one.startedAt === other.startedAt;
}

function hostOf(url: Secret): string {
  return new URL(url.reveal()).host;
}

/** Describes in one line why a host cannot be used. */
function reasonOf(error: unknown): string {
  // A host name with several addresses fails with one error per address.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
