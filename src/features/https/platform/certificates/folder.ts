/**
 * The folder `largesse.tls`: the account at the authority, the certificate, an order in progress, and the state of it.
 *
 * Each file is replaced as a whole, so a crash leaves the old one or the new one. Only the account of the service can read
 * them. Backups do not contain the folder: another machine obtains its own certificate.
 */

import { chmodSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, syncFolder } from '../../../../platform/folders.ts';

/** The account at each authority, by the URL of its directory. Written before its key is used. */
type StoredAccount = {
  /** The private key in PEM. */
  readonly key: string;
  readonly accounts: Readonly<Record<string, string>>;
};

export type StoredCertificate = {
  /** The URL of the authority's directory. */
  readonly directory: string;
  readonly key: string;
  readonly chain: string;
  /** The number of earlier renewals of the certificate. */
  readonly renewals: number;
};

/** An order in progress, whose key is the same in the next attempt. */
type StoredOrder = {
  readonly directory: string;
  readonly key: string;
  /** The authority's URL of the order; null: it is not ordered yet. */
  readonly order: string | null;
};

/** The proof that the authority reads on port 80. */
type StoredProof = { readonly token: string; readonly proof: string };

/** The progress of the certificate: for commands, and for the next start. */
export type StoredState = {
  readonly kind: 'asking' | 'valid' | 'failing';
  /** The present or the failed step: the DNS records, port 80, the order. */
  readonly step: 'dns' | 'port' | 'order';
  /** Whether a request to the domain on port 80 has reached this machine. */
  readonly isReached: boolean;
  /** When it was written, ms since 1970 UTC. */
  readonly at: number;
  /** The time of the order, in ms; null: it is not finished. */
  readonly tookMs: number | null;
  /** Failed attempts since the last certificate. */
  readonly failures: number;
  /** The type of the last failure, what to do about it, and whether the authority has counted it. */
  readonly failure: { readonly type: string; readonly why: string; readonly isCounted: boolean } | null;
  /** When the next attempt is due after a failure, ms since 1970 UTC. */
  readonly nextAt: number | null;
};

type Stored = {
  readonly account: StoredAccount;
  readonly certificate: StoredCertificate;
  readonly order: StoredOrder;
  readonly proof: StoredProof;
  readonly state: StoredState;
};

export type CertificateFolder = {
  readonly lockFile: string;
  /** Null: the file does not exist. @throws Error if it cannot be read, or is damaged. */
  readonly read: <Name extends keyof Stored>(name: Name) => Promise<Stored[Name] | null>;
  readonly write: <Name extends keyof Stored>(name: Name, value: Stored[Name]) => Promise<void>;
  readonly remove: (name: keyof Stored) => Promise<void>;
};

/** The folder of a key file. */
export function certificateFolderOf(keysFile: string): string {
  return join(dirname(keysFile), 'largesse.tls');
}

/** Creates the folder if it does not exist, and lets only its owner access it. */
export function makeCertificateFolder(folder: string): void {
  makeFolder(folder);
  chmodSync(folder, 0o700);
}

/** @param domain the name of the certificate, in lower case. */
export function openCertificateFolder(folder: string, domain: string): CertificateFolder {
  const files: Readonly<Record<keyof Stored, string>> = {
    account: join(folder, 'account.json'),
    certificate: join(folder, `${domain}.json`),
    order: join(folder, `${domain}.json.next`),
    proof: join(folder, `${domain}.json.proof`),
    state: join(folder, `${domain}.json.state`),
  };
  return {
    lockFile: join(folder, 'lock'),
    async read<Name extends keyof Stored>(name: Name) {
      let text;
      try {
        text = await readFile(files[name], 'utf8');
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
      try {
        // Only this file writes it, and a file is never partly written.
        return JSON.parse(text) as Stored[Name];
      } catch (error) {
        throw new Error(`${files[name]} is damaged: delete it`, { cause: error });
      }
    },
    async write(name, value) {
      await replaceFile(files[name], `${JSON.stringify(value, null, 2)}\n`);
    },
    async remove(name) {
      await rm(files[name], { force: true });
    },
  };
}

/** Replaces a file as a whole, also if the machine fails. The lock allows one writer at a time. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  syncFolder(dirname(path));
}
