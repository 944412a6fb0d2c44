/** The people who work in a store: their roles, and what each role may do. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { Money } from '../../money/domain/money.ts';
import type { EntryPlaces } from '../../stores/domain/location.ts';

export const roles = ['owner', 'manager', 'accountant', 'cashier'] as const;

export type Role = (typeof roles)[number];

export function isRole(name: string): name is Role {
  return (roles as readonly string[]).includes(name);
}

const atCounter: readonly Role[] = ['owner', 'manager', 'cashier'];
const readers: readonly Role[] = ['owner', 'manager', 'accountant'];
const managers: readonly Role[] = ['owner', 'manager'];
const owners: readonly Role[] = ['owner'];

/** The permissions, and the roles that have them. */
const permitted = {
  /** Find the card of a customer, redeem it, sell one, and refund to it: within the person's limits. */
  useTill: atCounter,
  /** Lists of cards, the card's page, today, and the reports of what happened. */
  readCards: readers,
  /** The parts of the store as a whole: the liability, its emails, and its stock. */
  readStore: readers,
  exportCards: readers,
  /** On the page of a card, without its code: redeem, refund, adjust, edit, disable and resend it, and release its holds. */
  changeCards: managers,
  changeEmails: managers,
  issueBatches: managers,
  /** Refund online sales, and decide about those that are reviewed. */
  manageSales: managers,
  enrollTills: managers,
  changeSettings: owners,
  manageStaff: owners,
  manageTokens: owners,
  readAuditLog: owners,
} satisfies Record<string, readonly Role[]>;

export type Permission = keyof typeof permitted;

export const permissions = Object.keys(permitted) as readonly Permission[];

/** The permissions of a person who is limited to locations. The others are about the store as a whole. */
const atLocations: ReadonlySet<Permission> = new Set(['useTill', 'readCards', 'exportCards', 'changeCards']);

export function isPermitted(
  { role, locationIds }: Pick<StaffMember, 'role' | 'locationIds'>,
  permission: Permission,
): boolean {
  return permitted[permission].includes(role) && (locationIds === null || atLocations.has(permission));
}

/** Whether a person may see and make entries of a location; null: at none. */
export function worksAt(
  { locationIds }: Pick<StaffMember, 'locationIds'>,
  locationId: number | null,
): boolean {
  return locationIds === null || (locationId !== null && locationIds.includes(locationId));
}

/** The locations whose entries a person sees. @param chosen one of them; null: none; undefined: all. */
export function visiblePlaces(
  member: Pick<StaffMember, 'locationIds'>,
  chosen: number | null | undefined,
): EntryPlaces {
  return chosen !== undefined && worksAt(member, chosen) ? [chosen] : member.locationIds;
}

/** The locations to which one person can be limited. */
export const ownLocationsMax = 20;

export type StaffMember = {
  readonly storeId: number;
  readonly id: number;
  readonly name: string;
  /** The address as first received. */
  readonly email: string;
  readonly role: Role;
  /** The highest amount of one sale; null: the store's limit. */
  readonly saleLimit: Money | null;
  /** The highest sum of the person's refunds of one redemption, and of one day; null: no limit. */
  readonly refundLimit: Money | null;
  /** The locations to which the person is limited, 1 to 20; null: the person works everywhere, as owners do. */
  readonly locationIds: readonly number[] | null;
  /** Instants in ms. */
  readonly createdAt: number;
  /** Null: the person has not accepted the invitation. */
  readonly joinedAt: number | null;
  readonly disabledAt: number | null;
};

/** The actor in the ledger and in the history of a card. */
export function actorOf({ id }: Pick<StaffMember, 'id'>): string {
  return `staff:${id}`;
}

const nameLengthMax = 100;

/** Parses a person's name: one line, without control, format and bidirectional characters. */
export function parseStaffName(value: string): Parsed<string> {
  if (value.length > nameLengthMax * 4) return rejected(`must have at most ${nameLengthMax} characters`);
  const name = value.normalize('NFC').trim();
  if (name === '') return rejected('must not be empty');
  if (name.length > nameLengthMax) return rejected(`must have at most ${nameLengthMax} characters`);
  return /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)
    ? rejected('must not contain control or invisible characters')
    : accepted(name);
}

const passwordLengthMin = 10;
/** A longer one costs the same to check, but a body has a limit. */
const passwordLengthMax = 200;

const passwordErrors = {
  tooShort: `must have at least ${passwordLengthMin} characters`,
  tooLong: `must have at most ${passwordLengthMax} characters`,
  repeats: 'must not repeat the same few characters',
  known: 'must not be made of your name, your address or the name of the store',
} as const;

export type PasswordProblem = keyof typeof passwordErrors;

/**
 * Checks a new password: its length, and that it is not made of the person's own data (NIST SP 800-63B, 3.1.1.2).
 * @param own the name, the address and the store's name and domain.
 * @returns undefined if it can be used.
 */
export function passwordProblem(value: string, own: readonly string[]): PasswordProblem | undefined {
  if (value.length > passwordLengthMax) return 'tooLong';
  const password = value.normalize('NFC');
  if (Array.from(password).length < passwordLengthMin) return 'tooShort';
  const plain = password.toLowerCase();
  if (new Set(plain).size < 4) return 'repeats';
  const known = [
    ...own,
    'largesse',
    'password',
    'passwort',
    'gift card',
    '1234567890',
    'qwertyuiop',
    'qwertzuiop',
  ];
  const rest = known
    .map((part) => part.toLowerCase())
    .filter((part) => part.length >= 4)
    .reduce((left, part) => left.replaceAll(part, ''), plain);
  return rest.length < 4 ? 'known' : undefined;
}

/** Parses a new password by the rules of `passwordProblem`. The result is in Unicode normalization form C. */
export function parseNewPassword(value: string, own: readonly string[]): Parsed<string> {
  const problem = passwordProblem(value, own);
  return problem === undefined ? accepted(value.normalize('NFC')) : rejected(passwordErrors[problem]);
}

/** Parses a PIN: four to eight digits that are not all equal and not in sequence. */
export function parsePin(value: string): Parsed<string> {
  if (!/^\d{4,8}$/.test(value)) return rejected('must have 4 to 8 digits');
  const steps = new Set(Array.from(value.slice(1), (digit, index) => Number(digit) - Number(value[index])));
  const [step] = steps;
  return steps.size === 1 && (step === 0 || step === 1 || step === -1)
    ? rejected('must not be a sequence such as 1234 or 0000')
    : accepted(value);
}

/** After this many wrong PINs in a row, a PIN is locked until the person signs in otherwise. */
export const wrongPinsMax = 5;
