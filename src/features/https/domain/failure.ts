/** The state of a certificate: its period, and failed attempts to renew it. */

/** A failed attempt to obtain or renew a certificate. */
export type CertificateFailure = {
  readonly failures: number;
  /** A sentence in English that says what to do. */
  readonly why: string;
  /** The time of the next attempt, in ms; null: it is not known. */
  readonly nextAt: number | null;
};

/** The period in which a certificate is valid, in ms. */
export type CertificatePeriod = { readonly from: number; readonly until: number };

/**
 * A certificate is renewed long before its last quarter, so something has gone wrong if it is in it.
 * @param period null: there is no certificate.
 */
export function assessCertificate(period: CertificatePeriod | null, now: number): 'warning' | 'error' | null {
  if (!period || now < period.from || now >= period.until) return 'error';
  return period.until - now < (period.until - period.from) / 4 ? 'warning' : null;
}
