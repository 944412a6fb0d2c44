/** The widths of the paper of receipt printers (mm), the default first. */
export const paperWidthsMm = [80, 58] as const;

export type PaperMm = (typeof paperWidthsMm)[number];
