/** Combines scripts into one, for callers of the services. */

export { parallel, resolved } from '../../database/sql/sql.ts';
