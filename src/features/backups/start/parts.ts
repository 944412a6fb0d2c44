/** The parts of the service that make backups. */

import type { FastifyBaseLogger } from 'fastify';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import type { AnyPlace } from '../domain/backup.ts';
import type { FreeSpace } from '../../../platform/disk.ts';
import type { DatabaseConfig } from '../../../start/config.ts';
import type { Database } from '../../../start/database.ts';

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
