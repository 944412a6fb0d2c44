/** A path of these pages, to continue at after signing in; `/` for anything else. */
export function localPath(path: string): string {
  return /^\/(?![/\\])[\w./-]{0,200}(?:\?[\w.=&%+*-]{0,600})?$/.test(path) ? path : '/';
}
