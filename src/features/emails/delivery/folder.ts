/**
 * The folder that keeps emails in development instead of sending them.
 *
 * Each email is two files: `<time>-<id>.eml` for mail programs, and `<time>-<id>.json` for the page that lists them.
 * They contain gift card codes, so only their owner can read them. The folder keeps the newest 500 emails by default.
 */

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import { toEml, type Email } from './message.ts';
import { browserHtml } from './preview.ts';

/** A kept email in a list. */
type KeptEmail = {
  /** The common name of its files; newer emails sort after older ones. */
  readonly name: string;
  readonly kind: EmailKind | 'notice';
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  /** Whole ms since 1970 UTC. */
  readonly date: number;
  readonly messageId: string;
};

/** A kept email with its content. */
type KeptEmailContent = KeptEmail & {
  /** For a browser, with `data:` images. It comes from templates and has no scripts. */
  readonly html: string;
  readonly text: string;
};

export type EmailFolder = {
  /**
   * Keeps an email under the id of its delivery. The same id and time replace an earlier email.
   * @throws RangeError if an address of the email is invalid.
   */
  keep(email: Email, delivery: { readonly id: number | string; readonly now: number }): Promise<KeptEmail>;
  /** The kept emails, newest first. */
  list(): Promise<readonly KeptEmail[]>;
  /** An email; undefined if the name is unknown or invalid. */
  read(name: string): Promise<KeptEmailContent | undefined>;
  /** The bytes of the message; undefined if the name is unknown or invalid. */
  readEml(name: string): Promise<Uint8Array | undefined>;
};

const keptEmailsMax = 500;

const nameForm = /^\d{8}T\d{9}Z-[A-Za-z0-9_-]{1,64}$/;

export function emailFolder(path: string, { keptMax = keptEmailsMax } = {}): EmailFolder {
  const fileOf = (name: string, extension: 'eml' | 'json'): string => join(path, `${name}.${extension}`);

  /** The names of all emails, oldest first. An email that is being written can lack a file. */
  async function names(): Promise<readonly string[]> {
    const files = await contentOf(() => readdir(path), []);
    const found = new Set(files.map((file) => file.replace(/\.(?:eml|json)(?:\.new)?$/, '')));
    return [...found].filter((name) => nameForm.test(name)).toSorted();
  }

  async function removeOldest(): Promise<void> {
    const all = await names();
    for (const name of all.slice(0, Math.max(0, all.length - keptMax))) {
      // The .json file first, because the list shows emails that have one.
      for (const ending of ['json', 'eml', 'json.new', 'eml.new'])
        await rm(join(path, `${name}.${ending}`), { force: true });
    }
  }

  async function read(name: string): Promise<KeptEmailContent | undefined> {
    if (!nameForm.test(name)) return undefined;
    const text = await contentOf(() => readFile(fileOf(name, 'json'), 'utf8'), undefined);
    return text === undefined ? undefined : (JSON.parse(text) as KeptEmailContent);
  }

  return {
    async keep(email, { id, now }) {
      const name = `${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}-${id}`;
      assert.match(name, nameForm, 'the id of a kept email has letters, digits, hyphens or underscores');
      const { content, messageId, date, to } = email;
      const { kind, subject, text } = content;
      const kept: KeptEmail = { name, kind, to, from: email.from.address, subject, date, messageId };
      const shown: KeptEmailContent = { ...kept, html: browserHtml(content), text };
      const eml = await toEml(email);
      await mkdir(path, { recursive: true, mode: 0o700 });
      await write(fileOf(name, 'eml'), eml);
      await write(fileOf(name, 'json'), `${JSON.stringify(shown)}\n`);
      await removeOldest();
      return kept;
    },
    async list() {
      const newestFirst = (await names()).toReversed();
      const emails = await Promise.all(newestFirst.map(read));
      return emails
        .filter((email) => email !== undefined)
        .map(({ html: _html, text: _text, ...email }): KeptEmail => email);
    },
    read,
    async readEml(name) {
      if (!nameForm.test(name)) return undefined;
      return contentOf(() => readFile(fileOf(name, 'eml')), undefined);
    },
  };
}

/** Writes a file atomically; only its owner can read it. */
async function write(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${file}.new`;
  await rm(temporary, { force: true });
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

/** Reads a file, or returns `absent` if it does not exist: an email can be removed while a page lists it. */
async function contentOf<T, U>(reading: () => Promise<T>, absent: U): Promise<T | U> {
  try {
    return await reading();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return absent;
    throw error;
  }
}
