import { postgresFactory } from '../support/postgres.ts';
import { serviceConformance } from './services.ts';

serviceConformance('PostgreSQL', postgresFactory(null));
