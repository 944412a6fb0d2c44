import { postgresFactory } from '../support/postgres.ts';
import { serviceConformance } from './services.ts';
import { storageConformance } from './storage.ts';

storageConformance('PostgreSQL', postgresFactory(null));
serviceConformance('PostgreSQL', postgresFactory(null));
