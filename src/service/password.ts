/**
 * Slow hashes of passwords and PINs: Argon2id, stored in PHC format. They are computed outside of transactions, at most
 * two at a time, because each takes about 35 ms of a processor and 19 MiB of memory.
 */

import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Fault } from '../domain/fault.ts';
import type { Random } from '../random.ts';

/** OWASP's recommendation of 2024: 19 MiB, two passes. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;

const saltLength = 16;
const hashLength = 32;
const form = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

const atOnceMax = 2;
/** More would wait longer than a person does. */
const waitingMax = 50;

const derive = promisify(argon2);

export type Passwords = {
  /** @returns the PHC text. @throws Fault `overloaded` if too many wait. */
  hash(plain: string): Promise<string>;
  /**
   * Whether the text is the one that was hashed. Without a hash it takes as long and returns false, so that the time does
   * not reveal whether an account exists.
   * @throws Fault `overloaded` if too many wait.
   */
  verify(plain: string, hashed: string | null): Promise<boolean>;
};

export function passwordsOf(random: Pick<Random, 'bytes'>): Passwords {
  const waiting: (() => void)[] = [];
  let running = 0;

  const inTurn = async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) throw new Fault('overloaded', { retryAfterSeconds: 5 });
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    } else running += 1;
    try {
      return await task();
    } finally {
      // The next one takes over the place.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };

  return {
    async hash(plain) {
      const salt = Buffer.from(random.bytes(saltLength));
      const hash = await inTurn(() => derivedOf(plain, { ...cost, salt }));
      const { memory, passes, parallelism } = cost;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`;
    },
    async verify(plain, hashed) {
      const stored = hashed === null ? undefined : parse(hashed);
      const parameters = stored ?? {
        ...cost,
        salt: Buffer.alloc(saltLength),
        hash: Buffer.alloc(hashLength),
      };
      const hash = await inTurn(() => derivedOf(plain, parameters));
      return timingSafeEqual(hash, parameters.hash) && stored !== undefined;
    },
  };
}

type Parameters = {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
};

async function derivedOf(plain: string, { salt, ...parameters }: Parameters): Promise<Buffer> {
  return await derive('argon2id', {
    message: plain,
    nonce: salt,
    tagLength: hashLength,
    memory: parameters.memory,
    passes: parameters.passes,
    parallelism: parameters.parallelism,
  });
}

/** @throws Error if the stored text is not one of `hash`. */
function parse(text: string): Parameters & { readonly hash: Buffer } {
  const [, memory, passes, parallelism, salt = '', hash = ''] = form.exec(text) ?? [];
  if (memory === undefined) throw new Error('a stored password does not have the form of one');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

/** Base64 without padding, as PHC strings have it. */
function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
