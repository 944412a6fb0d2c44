/** Whether a service can serve, and why not. */

/** `null`: it is ready. `full`: the disk of the database has too little space. */
export type Unreadiness = 'full' | 'read-only' | 'outdated' | 'unavailable';

/** Sentences for `/readyz` and the home page, which anyone can read: they contain no paths. */
export const unreadinessTexts: Readonly<Record<Unreadiness, string>> = {
  full: 'The disk of the database is full or has less free space than the service needs: free space on it.',
  'read-only':
    'The database can only be read: mount its disk for writing, and give the account of the service its files.',
  outdated: 'The schema of the database is older than the service: run "largesse migrate".',
  unavailable: 'The database does not accept writes, or more than one server does.',
};
