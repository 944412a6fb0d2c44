/** How callers of the services combine scripts into one. */

export { parallel, resolved } from '../storage/sql/sql.ts';
