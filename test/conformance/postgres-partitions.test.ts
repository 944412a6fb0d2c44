/** Runs the suites on tables that are partitioned by store. */

import { postgresFactory } from '../support/postgres.ts';
import { serviceConformance } from './services.ts';

serviceConformance('PostgreSQL in 4 partitions', postgresFactory(4));
