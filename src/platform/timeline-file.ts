/**
 * The timeline file contains the newest PostgreSQL timeline that was used for each group of hosts. It prevents a restart
 * from using an old primary: a promotion begins a new timeline with a higher number, and an old primary keeps its own.
 * Processes on one machine share the file; it is replaced as a whole, under a lock.
 */

import { readFileSync, statSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** A timeline of the cluster with a system identifier. */
export type Timeline = { readonly system: string; readonly timeline: number };

export class TimelineFileError extends Error {
  override readonly name = 'TimelineFileError';
}

export type TimelineFile = {
  readonly path: string;
  /**
   * The newest timeline that was recorded for any of the hosts; undefined if there is none.
   * @throws TimelineFileError if the file is unreadable or damaged, or contains two clusters for the hosts.
   */
  read(): Timeline | undefined;
  /**
   * Resolves when the file durably contains the timeline, or a newer one.
   * @throws TimelineFileError as `read` does; the system's error if it cannot be written.
   */
  record(timeline: Timeline): Promise<void>;
};

type Entry = Timeline & { readonly hosts: readonly string[] };

/** The oldest entries are removed. An entry has about 150 bytes. */
const entriesMax = 64;
const bytesMax = 65_536;
/** After this wait the lock is removed, because its process ended without removing it. */
const lockWaitMaxMs = 2_000;
const lockPollMs = 10;

/**
 * @param hosts `host:port` of every host of the database's URL.
 * @param create whether to create the folder. If false and the folder does not exist, nothing is recorded.
 */
export function timelineFile({
  path,
  hosts,
  create,
}: {
  readonly path: string;
  readonly hosts: readonly string[];
  readonly create: boolean;
}): TimelineFile {
  const isRelated = (entry: Entry): boolean => entry.hosts.some((host) => hosts.includes(host));

  const newest = (entries: readonly Entry[]): Timeline | undefined => {
    const [first, ...others] = entries.filter(isRelated);
    if (!first) return undefined;
    const different = others.find(({ system }) => system !== first.system);
    if (different) {
      throw new TimelineFileError(
        `the hosts of DATABASE_URL belonged to different clusters (system identifiers ${first.system} and ` +
          `${different.system}): if they are servers of one cluster now, remove ${path}`,
      );
    }
    return {
      system: first.system,
      timeline: Math.max(...[first, ...others].map(({ timeline }) => timeline)),
    };
  };

  const isCovered = (entries: readonly Entry[], { system, timeline }: Timeline): boolean =>
    hosts.every((host) =>
      entries.some(
        (entry) => entry.system === system && entry.timeline >= timeline && entry.hosts.includes(host),
      ),
    );

  return {
    path,
    read: () => newest(readEntries(path)),
    async record({ system, timeline }) {
      if (isCovered(readEntries(path), { system, timeline })) return;
      if (create) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      else if (!statSync(dirname(path), { throwIfNoEntry: false })) return;
      await withLock(`${path}.lock`, async () => {
        const entries = readEntries(path);
        const recorded = newest(entries);
        if (recorded && recorded.system !== system)
          throw new TimelineFileError(
            `another process has recorded the cluster ${recorded.system} in ${path}`,
          );
        const merged: Entry = {
          hosts: [...new Set([...hosts, ...entries.filter(isRelated).flatMap((entry) => entry.hosts)])],
          system,
          timeline: Math.max(timeline, recorded?.timeline ?? 0),
        };
        const unrelated = entries.filter((entry) => !isRelated(entry));
        await replace(path, [merged, ...unrelated].slice(0, entriesMax));
      });
    },
  };
}

/** @throws TimelineFileError. */
function readEntries(path: string): readonly Entry[] {
  let text;
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > bytesMax) throw damaged(path);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof TimelineFileError) throw error;
    if (hasCode(error, 'ENOENT')) return [];
    throw new TimelineFileError(`the timeline file ${path} cannot be read`, { cause: error });
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw damaged(path);
  }
  if (typeof content !== 'object' || content === null || !('clusters' in content)) throw damaged(path);
  const { clusters } = content;
  if (!Array.isArray(clusters) || !clusters.every(isEntry)) throw damaged(path);
  return clusters;
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const { hosts, system, timeline } = value as Partial<Record<keyof Entry, unknown>>;
  const areHosts = Array.isArray(hosts) && hosts.every((host) => typeof host === 'string');
  return areHosts && typeof system === 'string' && Number.isInteger(timeline);
}

function damaged(path: string): TimelineFileError {
  return new TimelineFileError(
    `the timeline file ${path} is damaged: check that DATABASE_URL leads to the current primary, then remove the file`,
  );
}

/** Replaces the file atomically, and makes its content and its name durable. */
async function replace(path: string, clusters: readonly Entry[]): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ clusters }, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function withLock(path: string, body: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + lockWaitMaxMs;
  for (;;) {
    try {
      await (await open(path, 'wx', 0o600)).close();
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      if (performance.now() >= deadline) await rm(path, { force: true });
      else await wait(lockPollMs);
    }
  }
  try {
    await body();
  } finally {
    await rm(path, { force: true });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
