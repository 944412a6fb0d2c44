import { postgresFactory } from '../support/postgres.ts';
import { storageConformance } from './storage.ts';

storageConformance('PostgreSQL', postgresFactory(null));
