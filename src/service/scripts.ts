/** How callers of the services combine scripts into one. */

export { parallel } from '../storage/sql/sql.ts';
