/** The shortest validity of a gift card that a country's law or courts accept, where it is known. Not legal advice. */

const months: Readonly<Record<string, number>> = {
  // Treasury Laws Amendment (Gift Cards) Act 2018: three years.
  AU: 36,
  // Most provinces forbid an expiry.
  CA: Number.POSITIVE_INFINITY,
  // Sections 195 and 199 of the civil code: a shorter validity in terms is usually void.
  DE: 36,
  // Consumer Protection (Gift Vouchers) Act 2019: five years.
  IE: 60,
  // Fair Trading (Gift Card Expiry) Amendment Act 2024: three years.
  NZ: 36,
  // 15 U.S.C. 1693l-1: five years.
  US: 60,
};

/** Whether cards of a validity expire earlier than the country accepts. @param validityMonths null: they do not expire. */
export function isTooShort(country: string | null, validityMonths: number | null): boolean {
  return validityMonths !== null && validityMonths < (months[country ?? ''] ?? 0);
}
