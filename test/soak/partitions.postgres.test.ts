/**
 * Runs the suite of verification on tables that are partitioned by store. `conformance/postgres-services` runs that of the
 * services' scripts on them in the soak.
 */

import { proofConformance } from '../conformance/proofs.ts';
import { postgresFactory } from '../support/postgres.ts';

proofConformance('PostgreSQL in 4 partitions', postgresFactory(4));
