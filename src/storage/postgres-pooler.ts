/**
 * Poolers between the service and its server. The service needs one server connection for as long as a session lasts,
 * because it has settings and prepared statements on it. Transaction and statement pooling give each transaction
 * whichever server connection is free.
 */

/** How often the server processes of two sessions are compared. */
const rounds = 8;

/** Returns the id of the server process that runs the next transaction of a session. */
export type ServerProcess = () => Promise<number>;

/**
 * Whether two sessions that are open at the same time each have a server process of their own.
 *
 * A pooler that prefers the server connection that was used last gives both sessions the same one; one that uses them
 * in turn changes that of a session. Other programs at the same pooler mix them further.
 */
export async function keepsSessions(one: ServerProcess, other: ServerProcess): Promise<boolean> {
  const [ofOne, ofOther] = [await one(), await other()];
  if (ofOne === ofOther) return false;
  for (let round = 1; round < rounds; round += 1)
    if ((await one()) !== ofOne || (await other()) !== ofOther) return false;
  return true;
}

/** The pooler does not keep a server connection for a session. */
export class SessionNotKept extends Error {
  override readonly name = 'SessionNotKept';

  constructor() {
    super(
      'a pooler gives each transaction another server connection, and the service needs session pooling ' +
        '(PgBouncer: pool_mode = session) or a direct connection',
    );
  }
}
