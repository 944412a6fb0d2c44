/** Combines scripts into one, for callers of the services. */

export { parallel, resolved } from '../storage/sql/sql.ts';
