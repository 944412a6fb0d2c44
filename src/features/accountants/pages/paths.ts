/** The page on which an owner names the accountants. */
export const accountantPath = '/settings/accountant';
