/** The parts of the service that make backups. */

import type { FastifyBaseLogger } from 'fastify';
import type { MachineRule } from '../../domain/stores/machine.ts';
import type { PublicNetwork } from '../../delivery/email/public-socket.ts';
import type { AnyPlace } from '../../domain/backups/backup.ts';
import type { FreeSpace } from '../../platform/disk.ts';
import type { DatabaseConfig } from '../config.ts';
import type { Database } from '../database.ts';

export type BackupParts = {
  readonly config: DatabaseConfig;
  readonly database: Database;
  readonly rule: MachineRule;
  /** The place of `BACKUP_FOLDER`; null: owners choose. */
  readonly operatorPlace: AnyPlace | null;
  readonly network: PublicNetwork;
  /** The list of mounts, as Linux has it. */
  readonly readMounts: () => string;
  readonly freeSpace: FreeSpace | null;
  readonly isClockTrusted: () => boolean;
  readonly logger: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
};
