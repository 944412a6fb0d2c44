/** One attempt to obtain a certificate: the addresses of the domain, port 80, the account, and the order. */

import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { withAcmeClient, type AcmeOptions } from '../acme/client.ts';
import { renewalIdOf } from '../acme/der.ts';
import { obtainChain } from '../acme/order.ts';
import { AcmeProblem } from '../acme/problem.ts';
import type { Clock } from '../../../../platform/clock.ts';
import type { Random } from '../../../../platform/random.ts';
import { periodProblem, readCertificate } from './certificate.ts';
import type { CertificateFolder, StoredCertificate, StoredState } from './folder.ts';
import { probeAddresses } from './reach.ts';

export type IssueOptions = Omit<AcmeOptions, 'signal'> & {
  readonly domain: string;
  readonly folder: CertificateFolder;
  /** The addresses of a domain. @throws AcmeProblem. */
  readonly findAddresses: (domain: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The port at which the domain is requested before an attempt; null: it is unknown how port 80 leads here. */
  readonly probePort: number | null;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly random: Pick<Random, 'bytes'>;
};

export type IssueAttempt = {
  /** The certificate that it replaces; null: none. */
  readonly replaced: StoredCertificate | null;
  /** Called before each step. */
  readonly begin: (step: Pick<StoredState, 'step' | 'isReached'>) => Promise<void>;
  readonly signal: AbortSignal;
};

/**
 * Obtains a certificate and stores it. An attempt that was interrupted continues with the same account, key and order.
 * @throws AcmeProblem, the error of a connection, or an Error if the certificate cannot be used.
 */
export async function issueCertificate(
  options: IssueOptions,
  attempt: IssueAttempt,
): Promise<StoredCertificate> {
  const { domain, directory, folder, clock } = options;
  await attempt.begin({ step: 'dns', isReached: false });
  const addresses = await options.findAddresses(domain, attempt.signal);
  await attempt.begin({ step: 'port', isReached: false });
  const isReached = await probe(options, addresses, attempt.signal);
  await attempt.begin({ step: 'order', isReached });

  const account = (await folder.read('account')) ?? { key: newKey(), accounts: {} };
  await folder.write('account', account);
  const earlier = await folder.read('order');
  const pending = earlier?.directory === directory ? earlier : { directory, key: newKey(), order: null };
  await folder.write('order', pending);
  const replaced = attempt.replaced?.directory === directory ? attempt.replaced : null;
  const known = account.accounts[directory] ?? null;
  const key = createPrivateKey(account.key);
  let chain;
  try {
    chain = await withAcmeClient(
      { ...options, key, account: known, signal: attempt.signal },
      async (client) => {
        const accounts = { ...account.accounts, [directory]: client.account };
        if (known === null) await folder.write('account', { ...account, accounts });
        return await obtainChain(client, {
          domain,
          key: createPrivateKey(pending.key),
          started: pending.order,
          replaces: replaced && renewalIdOf(replaced.chain),
          ordered: (order) => folder.write('order', { ...pending, order }),
          publish: (token, proof) => folder.write('proof', { token, proof }),
          signal: attempt.signal,
          clock,
        });
      },
    );
  } catch (error) {
    if (error instanceof AcmeProblem) await forget(options, error);
    throw error;
  }
  const renewals = replaced ? replaced.renewals + 1 : 0;
  const stored = { directory, key: pending.key, chain, renewals };
  const problem = periodProblem(readCertificate(stored, domain), clock.now());
  if (problem !== undefined) throw new Error(problem);
  await folder.write('certificate', stored);
  await folder.remove('order');
  await folder.remove('proof');
  return stored;
}

/** Whether a request to the domain has reached this machine. @throws AcmeProblem if it leads to another server. */
async function probe(
  { domain, folder, probePort: port, random }: IssueOptions,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  if (port === null) return false;
  const token = Buffer.from(random.bytes(24)).toString('base64url');
  const proof = Buffer.from(random.bytes(24)).toString('base64url');
  await folder.write('proof', { token, proof });
  return await probeAddresses(addresses, { port, domain, path: `${challengePath}${token}`, proof, signal });
}

/** The path of the proof for a token (RFC 8555, 8.3), without the token. */
export const challengePath = '/.well-known/acme-challenge/';

/** Removes what the authority no longer accepts, so that the next attempt makes it again. */
async function forget({ directory, folder }: IssueOptions, { type }: AcmeProblem): Promise<void> {
  if (type === 'badCSR' || type === 'badPublicKey') await folder.remove('order');
  if (type !== 'accountDoesNotExist') return;
  const account = await folder.read('account');
  if (!account) return;
  const { [directory]: _unknown, ...accounts } = account.accounts;
  await folder.write('account', { ...account, accounts });
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return privateKey;
}
