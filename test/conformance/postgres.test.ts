/** PostgreSQL as an engine: the suites that every engine passes, with whole tables and with divided ones. */

import { postgresFactory } from '../harness/postgres.ts';
import { serviceConformance } from './services.ts';
import { storageConformance } from './storage.ts';

storageConformance('PostgreSQL', postgresFactory(null));
serviceConformance('PostgreSQL', postgresFactory(null));
storageConformance('PostgreSQL in 4 partitions', postgresFactory(4));
serviceConformance('PostgreSQL in 4 partitions', postgresFactory(4));
