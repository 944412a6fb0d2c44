import { postgresFactory } from '../support/postgres.ts';
import { proofConformance } from './proofs.ts';

proofConformance('PostgreSQL', postgresFactory(null));
