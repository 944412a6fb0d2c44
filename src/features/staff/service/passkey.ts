/**
 * Passkeys (Web Authentication, level 3): discoverable credentials that verify the person, so that one replaces the
 * address and the password.
 *
 * A challenge is not stored. It contains its expiry and a digest under the service's key of what it is for: the
 * browser, the purpose, the account. It is accepted for five minutes, and once: a verified response inserts it into the
 * budgets of failed lookups, with a budget of one use, which the job that erases full budgets deletes later.
 */

import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isIP } from 'node:net';
import type { Context } from '../../../core/storage/context.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { parseStaffName, type StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeys,
  lockPasskeysOf,
  updatePasskeyName,
  updatePasskeyUse,
  type Passkey,
} from '../storage/passkey.ts';
import { findAccount, markJoined, type StaffAccount } from '../../../core/staff/storage/staff.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { assertStoreOpen, findStore } from '../../../core/stores/storage/store.ts';
import { recordAction, type Acting } from '../../../core/staff/service/staff.ts';
import {
  type Ceremony,
  challengePeriodMs,
  createChallenge,
  isOpenChallenge,
  useChallenge,
  type PasskeySite,
} from './passkey-challenge.ts';

/** Undefined if browsers have no passkeys there, because the host is an IP address. */
export function passkeySiteOf(origin: URL): PasskeySite | undefined {
  const { hostname } = origin;
  return isIP(hostname) !== 0 || hostname.startsWith('[')
    ? undefined
    : { id: hostname, origin: origin.origin };
}

/** The account in a passkey, which an authenticator returns at sign-in. */
type Account = { readonly storeId: number; readonly staffId: number };

function handleOf({ keys }: Context, { storeId, staffId }: Account): string {
  const text = `${storeId.toString(36)}.${keys.publicIds.of(staffId).toString(36)}`;
  return Buffer.from(text).toString('base64url');
}

function readHandle({ keys }: Context, handle: string): Account | undefined {
  const text = Buffer.from(handle, 'base64url').toString('latin1');
  const [, store = '', staff = ''] = /^([1-9a-z][\da-z]{0,10})\.([1-9a-z][\da-z]{0,10})$/.exec(text) ?? [];
  const storeId = Number.parseInt(store, 36);
  const staffId = keys.publicIds.read(Number.parseInt(staff, 36));
  return Number.isSafeInteger(storeId) && staffId !== undefined ? { storeId, staffId } : undefined;
}

/** EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257] as const;

/** The owner of the passkey. The ids can be those of a member who is inserted together with the passkey. */
export type PasskeyOwner = Account & Pick<StaffMember, 'name' | 'email'> & { readonly storeName: string };

/** The options of `navigator.credentials.create`, in JSON. */
export function registrationOptions(
  ctx: Context,
  ceremony: Ceremony,
  { owner, existing }: { readonly owner: PasskeyOwner; readonly existing: readonly Passkey[] },
): PublicKeyCredentialCreationOptionsJSON {
  return {
    challenge: createChallenge(ctx, ceremony),
    rp: { id: ceremony.site.id, name: owner.storeName },
    user: { id: handleOf(ctx, owner), name: owner.email, displayName: owner.name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: challengePeriodMs,
    attestation: 'none',
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    excludeCredentials: existing.map(descriptorOf),
  };
}

/** The options of `navigator.credentials.get`, in JSON. @param allowed empty: any passkey of the site. */
export function authenticationOptions(
  ctx: Context,
  ceremony: Ceremony,
  { allowed }: { readonly allowed: readonly Passkey[] },
): PublicKeyCredentialRequestOptionsJSON {
  return {
    challenge: createChallenge(ctx, ceremony),
    rpId: ceremony.site.id,
    timeout: challengePeriodMs,
    userVerification: 'required',
    allowCredentials: allowed.map(descriptorOf),
  };
}

function descriptorOf({ credentialId, transports }: Passkey) {
  return {
    type: 'public-key' as const,
    id: Buffer.from(credentialId).toString('base64url'),
    transports: [...transports],
  };
}

/** A passkey that a browser has created, before it is stored. */
export type NewPasskey = Pick<Passkey, 'credentialId' | 'publicKey' | 'signCount' | 'transports'> & {
  readonly challenge: string;
};

/** A longer one is not parsed. A response has less than 2 kB; an RSA key of a TPM makes it longer. */
const responseLengthMax = 16_000;
const credentialIdLengthMax = 1_023;

/** The JSON of a `PublicKeyCredential`; undefined if the text cannot be one. */
function parseCredential(text: string): Record<'id', string> | undefined {
  if (text.length > responseLengthMax) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isCredential =
      typeof value === 'object' &&
      value !== null &&
      'id' in value &&
      typeof value.id === 'string' &&
      value.id !== '' &&
      value.id.length <= Math.ceil((credentialIdLengthMax * 4) / 3) &&
      'response' in value &&
      typeof value.response === 'object' &&
      value.response !== null;
    return isCredential ? (value as Record<'id', string>) : undefined;
  } catch {
    return undefined;
  }
}

const transportForm = /^[a-z-]{1,20}$/;
const transportsMax = 8;

/** Verifies the response to `registrationOptions`. Undefined if it is not valid. */
export async function verifyRegistration(
  ctx: Context,
  ceremony: Ceremony,
  text: string,
): Promise<NewPasskey | undefined> {
  const response = parseCredential(text) as RegistrationResponseJSON | undefined;
  if (!response || !(await isPlainAttestation(response))) return undefined;
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  let used = '';
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: (challenge) => isOpenChallenge(ctx, ceremony, (used = challenge)),
    expectedOrigin: ceremony.site.origin,
    expectedRPID: ceremony.site.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: [...algorithms],
    // The library throws for every response that is not valid.
  }).catch(() => undefined);
  const credential = verified?.registrationInfo?.credential;
  if (!credential) return undefined;
  const credentialId = Buffer.from(credential.id, 'base64url');
  if (credentialId.length === 0 || credentialId.length > credentialIdLengthMax) return undefined;
  const transports = (Array.isArray(credential.transports) ? credential.transports : [])
    .filter((transport) => typeof transport === 'string' && transportForm.test(transport))
    .slice(0, transportsMax);
  return {
    challenge: used,
    credentialId,
    publicKey: credential.publicKey,
    signCount: credential.counter,
    transports,
  };
}

/**
 * Whether a response has no certificates. The options ask for no attestation, so browsers remove them. For those of another
 * client the library would validate chains, and request the issuers' lists of revoked certificates.
 */
async function isPlainAttestation({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  try {
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
    const format = attestation.get('fmt');
    return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
  } catch {
    return false;
  }
}

/** The account of a response at sign-in, and what its throttle counts by; undefined if the response is not one. */
export type PresentedPasskey = {
  readonly account: Account;
  readonly credentialId: Uint8Array;
  readonly response: AuthenticationResponseJSON;
};

export function parsePresented(ctx: Context, text: string): PresentedPasskey | undefined {
  const response = parseCredential(text) as AuthenticationResponseJSON | undefined;
  const handle: unknown = response?.response.userHandle;
  const account = typeof handle === 'string' && handle.length <= 100 ? readHandle(ctx, handle) : undefined;
  return response && account && { account, credentialId: Buffer.from(response.id, 'base64url'), response };
}

/** A passkey with its member and store. */
export type FoundPasskey = {
  readonly passkey: Passkey;
  readonly account: StaffAccount;
  readonly store: Store;
};

/** Undefined if the passkey was removed, or its member is disabled. @throws Fault `store-closed`. */
export function* findPresented({
  account,
  credentialId,
}: PresentedPasskey): Script<FoundPasskey | undefined> {
  const record = yield* findStore(account.storeId);
  if (record) assertStoreOpen(record);
  const passkey = record && (yield* findPasskey(account.storeId, credentialId));
  if (!passkey || passkey.staffId !== account.staffId) return undefined;
  const owner = yield* findAccount(record.store, passkey.staffId);
  return owner && { passkey, account: owner, store: record.store };
}

/** A response that was signed by a passkey of the service. */
export type VerifiedPasskey = {
  readonly passkey: Passkey;
  readonly signCount: number;
  readonly challenge: string;
};

/** Verifies the signature of a response to `authenticationOptions`. Undefined if it is not valid. */
export async function verifyAuthentication(
  ctx: Context,
  ceremony: Ceremony,
  { passkey, response }: { readonly passkey: Passkey; readonly response: AuthenticationResponseJSON },
): Promise<VerifiedPasskey | undefined> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  let used = '';
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: (challenge) => isOpenChallenge(ctx, ceremony, (used = challenge)),
    expectedOrigin: ceremony.site.origin,
    expectedRPID: ceremony.site.id,
    requireUserVerification: true,
    credential: {
      id: response.id,
      publicKey: new Uint8Array(passkey.publicKey),
      // `usePasskey` compares it with the stored one, in the transaction.
      counter: 0,
      transports: [...passkey.transports],
    },
  }).catch(() => undefined);
  if (verified?.verified !== true) return undefined;
  return { passkey, signCount: verified.authenticationInfo.newCounter, challenge: used };
}

/** `replayed`: the challenge was used. `copied`: the counter is not above that of an earlier response. */
export type PasskeyUse = 'accepted' | 'replayed' | 'copied';

/** Records the use of a passkey. */
export function* usePasskey(
  ctx: Context,
  { passkey, signCount, challenge }: VerifiedPasskey,
): Script<PasskeyUse> {
  if (!(yield* useChallenge(ctx, passkey.storeId, challenge))) return 'replayed';
  const isLater = yield* updatePasskeyUse(passkey, { signCount, now: ctx.wallClock.now() });
  return isLater ? 'accepted' : 'copied';
}

const passkeysMax = 20;

/** Parses the name of a passkey, which has the same form as that of a person. */
export const parsePasskeyName = parseStaffName;

/**
 * Adds a passkey to a member, who joins with it if it is the first way to sign in.
 * @throws Fault `invalid-parameter` if the member has 20, or the store has the credential; `not-found` if the challenge
 * was used.
 */
export function* addPasskey(
  ctx: Context,
  { storeId, id: staffId }: Pick<StaffMember, 'storeId' | 'id'>,
  { name, by, passkey }: { readonly name: string; readonly by: Acting; readonly passkey: NewPasskey },
): Script<void> {
  const { challenge, ...created } = passkey;
  const owner = { storeId, staffId };
  yield* lockPasskeysOf(owner);
  if (!(yield* useChallenge(ctx, storeId, challenge))) throw new Fault('not-found');
  const existing = yield* listPasskeys(owner);
  if (existing.length >= passkeysMax) throw invalid(`cannot be added: a person has at most ${passkeysMax}`);
  const now = ctx.wallClock.now();
  const stored: Passkey = {
    ...owner,
    ...created,
    id: ctx.random.id(),
    name,
    createdAt: now,
    lastUsedAt: null,
  };
  if (!(yield* insertPasskey(stored))) throw invalid('is already in use');
  yield* markJoined({ storeId, id: staffId }, now);
  const entry = { storeId, action: 'passkey-added', subjectId: staffId, details: { name } } as const;
  yield* recordAction(ctx, by, entry);
}

function invalid(message: string): Fault {
  return new Fault('invalid-parameter', { errors: { passkey: [message] } });
}

/** @throws Fault `not-found`. */
export function* renamePasskey(
  { storeId, id: staffId }: StaffMember,
  { id, name }: { readonly id: number; readonly name: string },
): Script<void> {
  if (!(yield* updatePasskeyName({ storeId, staffId }, { id, name }))) throw new Fault('not-found');
}

/** Removes a passkey. @throws Fault `not-found`, or `invalid-parameter` if it is the only way to sign in. */
export function* removePasskey(
  ctx: Context,
  {
    store,
    member,
    id,
    by,
  }: { readonly store: Store; readonly member: StaffMember; readonly id: number; readonly by: Acting },
): Script<void> {
  const owner = { storeId: store.id, staffId: member.id };
  yield* lockPasskeysOf(owner);
  const [account, all] = [yield* findAccount(store, member.id), yield* listPasskeys(owner)];
  if (!account || !all.some((each) => each.id === id)) throw new Fault('not-found');
  if (account.password === null && all.length === 1)
    throw invalid('cannot be removed: it is the only way to sign in');
  const name = yield* deletePasskey(owner, id);
  if (name === undefined) throw new Fault('not-found');
  const entry = {
    storeId: store.id,
    action: 'passkey-removed',
    subjectId: member.id,
    details: { name },
  } as const;
  yield* recordAction(ctx, by, entry);
}
