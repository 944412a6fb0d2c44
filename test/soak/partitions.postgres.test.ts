/** Runs all suites of the services' scripts on tables that are partitioned by store. */

import { proofConformance } from '../conformance/proofs.ts';
import { serviceConformance } from '../conformance/services.ts';
import { postgresFactory } from '../support/postgres.ts';

serviceConformance('PostgreSQL in 4 partitions', postgresFactory(4));
proofConformance('PostgreSQL in 4 partitions', postgresFactory(4));
