/** The widths of the paper of receipt printers (mm). */
export const paperWidthsMm = [80, 58] as const;

export type PaperMm = (typeof paperWidthsMm)[number];

/** The width of most receipt printers, and of a till until another one is set. The column has the same default. */
export const usualPaperMm: PaperMm = 80;
