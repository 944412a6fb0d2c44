/** Runs all suites of the services' scripts on tables that are partitioned by store. */

import { serviceConformance } from '../conformance/services.ts';
import { postgresFactory } from '../support/postgres.ts';

serviceConformance('PostgreSQL in 4 partitions', postgresFactory(4));
