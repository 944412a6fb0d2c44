/** Tables that are divided by their store: nothing shows of it. */

import { postgresFactory } from '../support/postgres.ts';
import { serviceConformance } from './services.ts';

serviceConformance('PostgreSQL in 4 partitions', postgresFactory(4));
