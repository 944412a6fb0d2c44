/** The files that the program reads at run time, except its modules. */

/** Folders in `src` whose files are read by name. */
export const readFolders = [
  'storage/migrations',
  'console/assets',
  'docs/assets',
  'delivery/email/designs',
] as const;
