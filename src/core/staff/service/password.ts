/**
 * Slow hashes of passwords and PINs: Argon2id, stored in PHC format. They are computed outside of transactions, few at a
 * time, because each takes about 35 ms of a processor and 19 MiB of memory.
 */

import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Limits } from '../../../platform/limits.ts';
import type { Random } from '../../../platform/random.ts';
import { hashQueue, type HashClient, type HashLimits } from './hash-queue.ts';

/** OWASP's recommendation of 2024, with the memory of `Limits`. */
const cost = { passes: 2, parallelism: 1 } as const;

const saltLength = 16;
const hashLength = 32;
const form = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

const derive = promisify(argon2);

/** The typed texts, and the stored hash. */
type Comparison = {
  /** The texts of which one is the right one: the same PIN has a text for each key. */
  readonly texts: readonly string[];
  /** Argon2id in PHC format; null: there is no account, or it has no hash. */
  readonly hashed: string | null;
};

export type Passwords = {
  /** @returns the PHC text. @throws Fault `overloaded` if too many wait. */
  hash(client: HashClient, plain: string): Promise<string>;
  /**
   * Whether a text is the one that was hashed. Without a hash it takes as long and returns false, so that the time does
   * not reveal whether an account exists.
   * @throws Fault `overloaded`, without a comparison, if too many wait or the client is gone.
   */
  verify(client: HashClient, comparison: Comparison): Promise<boolean>;
};

export function passwordsOf(
  random: Pick<Random, 'bytes'>,
  limits: HashLimits & Pick<Limits, 'passwordMemoryKib'>,
): Passwords {
  const { inTurn } = hashQueue(limits);
  const memory = limits.passwordMemoryKib;
  return {
    async hash(client, plain) {
      const salt = Buffer.from(random.bytes(saltLength));
      const hash = await inTurn(client, () => derivedOf(plain, { ...cost, memory, salt }));
      const { passes, parallelism } = cost;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`;
    },
    async verify(client, { texts, hashed }) {
      const stored = hashed === null ? undefined : parse(hashed);
      const parameters = stored ?? {
        ...cost,
        memory,
        salt: Buffer.alloc(saltLength),
        hash: Buffer.alloc(hashLength),
      };
      return await inTurn(client, async () => {
        for (const text of texts) {
          const hash = await derivedOf(text, parameters);
          if (timingSafeEqual(hash, parameters.hash) && stored !== undefined) return true;
        }
        return false;
      });
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
