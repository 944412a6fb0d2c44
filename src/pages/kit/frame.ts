/** The URLs of the pages and their files. */

/** The URL prefix of pages, and the folder of their files. */
export type PageFrame = {
  readonly basePath: string;
  /** The path of a file of the pages, such as `largesse.css`. */
  readonly assetUrl: (name: string) => string;
  /** Whether every page has the banner of a sandbox. */
  readonly isSandbox: boolean;
  /** Whether the pages are previews in a frame, which have no scripts. Default: false. */
  readonly isPreview?: boolean;
  /** When the backup was made that restored a store, in ms, until an owner confirms it; undefined: it was not restored. */
  readonly restoredFrom: (storeId: number) => number | undefined;
};
