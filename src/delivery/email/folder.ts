/**
 * The mail folder: where mails are kept in development instead of being sent.
 *
 * Each mail is two files, `<time>-<id>.eml`, which mail programs open, and `<time>-<id>.json` with what a
 * page shows of it. They hold gift card codes, so they are readable by their owner only, and no more than
 * the newest are kept.
 */

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MailKind } from '../../domain/mail.ts';
import { toEml, type Mail } from './message.ts';
import { browserHtml } from './preview.ts';

/** A kept mail, as a list shows it. */
type KeptMail = {
  /** The files' common name: newer ones are greater. */
  readonly name: string;
  readonly kind: MailKind;
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  /** Whole ms since 1970 UTC. */
  readonly date: number;
  readonly messageId: string;
};

/** A kept mail with its content. */
type KeptMailContent = KeptMail & {
  /** For a browser: the images are in it as `data:` addresses. It comes from templates and has no scripts. */
  readonly html: string;
  readonly text: string;
};

export type MailFolder = {
  /**
   * Keeps a mail under the id of its delivery. The same id at the same time replaces what was kept.
   * @throws RangeError if an address of the mail is none.
   */
  keep(mail: Mail, delivery: { readonly id: number | string; readonly now: number }): Promise<KeptMail>;
  /** The kept mails, the newest first. */
  list(): Promise<readonly KeptMail[]>;
  /** One mail, or undefined if there is none of that name, whatever the name is. */
  read(name: string): Promise<KeptMailContent | undefined>;
  /** The whole message as it would have been sent. */
  readEml(name: string): Promise<Uint8Array | undefined>;
};

/** Mails that are kept unless told otherwise. */
const keptMailsMax = 500;

const nameForm = /^\d{8}T\d{9}Z-[A-Za-z0-9_-]{1,64}$/;

export function mailFolder(path: string, { keptMax = keptMailsMax } = {}): MailFolder {
  const fileOf = (name: string, extension: 'eml' | 'json'): string => join(path, `${name}.${extension}`);

  /** The names of all mails, complete or not, the oldest first. */
  async function names(): Promise<readonly string[]> {
    const files = await contentOf(() => readdir(path), []);
    const found = new Set(files.map((file) => file.replace(/\.(?:eml|json)(?:\.new)?$/, '')));
    return [...found].filter((name) => nameForm.test(name)).toSorted();
  }

  async function removeOldest(): Promise<void> {
    const all = await names();
    for (const name of all.slice(0, Math.max(0, all.length - keptMax))) {
      // The index first: what it does not name is not shown.
      for (const ending of ['json', 'eml', 'json.new', 'eml.new'])
        await rm(join(path, `${name}.${ending}`), { force: true });
    }
  }

  async function read(name: string): Promise<KeptMailContent | undefined> {
    if (!nameForm.test(name)) return undefined;
    const text = await contentOf(() => readFile(fileOf(name, 'json'), 'utf8'), undefined);
    return text === undefined ? undefined : (JSON.parse(text) as KeptMailContent);
  }

  return {
    async keep(mail, { id, now }) {
      const name = `${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}-${id}`;
      assert.match(
        name,
        nameForm,
        'a kept mail is named by an id of letters, digits, hyphens or underscores',
      );
      const { content, messageId, date, to } = mail;
      const { kind, subject, text } = content;
      const kept: KeptMail = { name, kind, to, from: mail.from.address, subject, date, messageId };
      const shown: KeptMailContent = { ...kept, html: browserHtml(content), text };
      const eml = await toEml(mail);
      await mkdir(path, { recursive: true, mode: 0o700 });
      await write(fileOf(name, 'eml'), eml);
      await write(fileOf(name, 'json'), `${JSON.stringify(shown)}\n`);
      await removeOldest();
      return kept;
    },
    async list() {
      const newestFirst = (await names()).toReversed();
      const mails = await Promise.all(newestFirst.map(read));
      return mails
        .filter((mail) => mail !== undefined)
        .map(({ html: _html, text: _text, ...mail }): KeptMail => mail);
    },
    read,
    async readEml(name) {
      if (!nameForm.test(name)) return undefined;
      return contentOf(() => readFile(fileOf(name, 'eml')), undefined);
    },
  };
}

/** A file appears whole or not at all, readable by its owner only. */
async function write(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${file}.new`;
  await rm(temporary, { force: true });
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

/** What is read, or something else if it is not there: a mail may be removed while a page lists it. */
async function contentOf<T, U>(reading: () => Promise<T>, absent: U): Promise<T | U> {
  try {
    return await reading();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return absent;
    throw error;
  }
}
