/** The settings of the machine, such as mail servers and backups. */

/** The people who may set them: the owners, the owners of the only store, or the operator. */
export type MachineRule = 'owner' | 'owner-of-one-store' | 'operator';
