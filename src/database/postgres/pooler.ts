/**
 * Detection of connection poolers. A session needs one server connection for its lifetime, which holds its
 * settings and prepared statements. Transaction and statement pooling assign each transaction any free server
 * connection.
 */

/** Number of comparisons of the server processes of two sessions. */
const rounds = 8;

/** Returns the id of the server process that runs the session's next transaction. */
export type ServerProcess = () => Promise<number>;

/**
 * Returns whether two open sessions each keep a server process of their own.
 *
 * A pooler that prefers the most recently used server connection assigns the same one to both; one that rotates
 * changes that of a session. Other clients of the pooler change the assignment further.
 */
export async function keepsSessions(one: ServerProcess, other: ServerProcess): Promise<boolean> {
  const [ofOne, ofOther] = [await one(), await other()];
  if (ofOne === ofOther) return false;
  for (let round = 1; round < rounds; round += 1)
    if ((await one()) !== ofOne || (await other()) !== ofOther) return false;
  return true;
}

/** The pooler does not keep one server connection per session. */
export class SessionNotKept extends Error {
  override readonly name = 'SessionNotKept';

  constructor() {
    super(
      'a pooler gives each transaction another server connection, and the service needs session pooling ' +
        '(PgBouncer: pool_mode = session) or a direct connection',
    );
  }
}
