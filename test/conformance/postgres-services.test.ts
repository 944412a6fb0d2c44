/** `npm test` runs the suite on tables without partitions, the soak on partitions by store. */

import { postgresFactory } from '../support/postgres.ts';
import { partitions } from '../support/postgres-database.ts';
import { serviceConformance } from './services.ts';

const tables = partitions === null ? '' : ` in ${partitions} partitions`;
serviceConformance(`PostgreSQL${tables}`, postgresFactory(partitions));
