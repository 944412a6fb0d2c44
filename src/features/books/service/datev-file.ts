/**
 * The journal as a batch of entries in the DATEV format: version 13 of `Buchungsstapel`, with header 700 (DATEV,
 * “DATEV-Format”, developer.datev.de).
 */

import type { JournalLine } from '../domain/reports.ts';
import type { ReportDays } from '../domain/report-days.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { Datev } from '../../../core/stores/domain/datev.ts';
import type { JournalAccount, Store } from '../../../core/stores/domain/store.ts';

/** `Zusatzinformation` and others are in pairs: a kind and its content. */
function pairs(name: string, content: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, place) => [
    `${name} - Art ${place + 1}`,
    `${content} ${place + 1}`,
  ]).flat();
}

const columns = [
  ...'Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ Basis-Umsatz;Konto;Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld 2;Skonto;Buchungstext;Postensperre;Diverse Adressnummer;Geschäftspartnerbank;Sachverhalt;Zinssperre;Beleglink'.split(
    ';',
  ),
  ...pairs('Beleginfo', 'Beleginfo - Inhalt', 8),
  ...'KOST1 - Kostenstelle;KOST2 - Kostenstelle;Kost-Menge;EU-Land u. UStID (Bestimmung);EU-Steuersatz (Bestimmung);Abw. Versteuerungsart;Sachverhalt L+L;Funktionsergänzung L+L;BU 49 Hauptfunktionstyp;BU 49 Hauptfunktionsnummer;BU 49 Funktionsergänzung'.split(
    ';',
  ),
  ...pairs('Zusatzinformation', 'Zusatzinformation- Inhalt', 20),
  ...'Stück;Gewicht;Zahlweise;Forderungsart;Veranlagungsjahr;Zugeordnete Fälligkeit;Skontotyp;Auftragsnummer;Buchungstyp;USt-Schlüssel (Anzahlungen);EU-Land (Anzahlungen);Sachverhalt L+L (Anzahlungen);EU-Steuersatz (Anzahlungen);Erlöskonto (Anzahlungen);Herkunft-Kz;Buchungs GUID;KOST-Datum;SEPA-Mandatsreferenz;Skontosperre;Gesellschaftername;Beteiligtennummer;Identifikationsnummer;Zeichnernummer;Postensperre bis;Bezeichnung SoBil-Sachverhalt;Kennzeichen SoBil-Buchung;Festschreibung;Leistungsdatum;Datum Zuord. Steuerperiode;Fälligkeit;Generalumkehr (GU);Steuersatz;Land;Abrechnungsreferenz;BVV-Position;EU-Land u. UStID (Ursprung);EU-Steuersatz (Ursprung);Abw. Skontokonto'.split(
    ';',
  ),
] as const;

const textLengthMax = 60;
/** The digits before the comma. */
const wholeDigitsMax = 10;

/** An amount that goes from one account to another. */
type Posting = {
  readonly day: string;
  readonly kind: JournalLine['kind'];
  readonly debited: JournalAccount;
  readonly credited: JournalAccount;
  readonly amount: bigint;
};

/**
 * Pairs debits with credits, because a row of DATEV has one of each. The lines of a day, kind, location and VAT have equal
 * debits and credits, so only they are paired.
 */
export function postingsOf(lines: readonly JournalLine[]): readonly Posting[] {
  const groups = Map.groupBy(lines, ({ day, kind, locationId, vatKind, vatRate }) =>
    [day, kind, locationId, vatKind, vatRate].join('\n'),
  );
  const postings: Posting[] = [];
  for (const group of groups.values()) {
    const credits = group.filter(({ credit }) => credit > 0n).map((line) => ({ ...line }));
    for (const { day, kind, account, debit } of group) {
      let left = debit;
      // Other accounts come first: what an account gives to itself is not a posting.
      const isOwn = (line: JournalLine): number => Number(line.account === account);
      for (const counterpart of credits.toSorted((one, other) => isOwn(one) - isOwn(other))) {
        const amount = left < counterpart.credit ? left : counterpart.credit;
        if (amount === 0n) continue;
        if (counterpart.account !== account)
          postings.push({ day, kind, debited: account, credited: counterpart.account, amount });
        counterpart.credit -= amount;
        left -= amount;
      }
    }
  }
  return postings;
}

/** The first day of the fiscal year that a day is in. */
export function fiscalYearOf(day: string, { firstMonth }: Datev): string {
  const { year, month } = Temporal.PlainDate.from(day);
  return new Temporal.PlainDate(month < firstMonth ? year - 1 : year, firstMonth, 1).toString();
}

function compactDay(day: string): string {
  return day.replaceAll('-', '');
}

/** A text without what the format does not have: control characters, and letters outside of Windows-1252. */
function quoted(text: string): string {
  const known = text.replaceAll('’', "'").replaceAll(/[^\u0020-\u007e\u00a1-\u00ff]/g, ' ');
  return `"${known.replaceAll('"', '""')}"`;
}

/**
 * The bytes of the file, in Windows-1252.
 * @param numberOf returns an account’s number.
 * @param textOf returns the text of an entry.
 * @param createdAt ms.
 */
export function datevFile(
  { currency }: Pick<Store, 'currency'>,
  {
    datev,
    days: { from, to },
    lines,
    numberOf,
    textOf,
    createdAt,
  }: {
    readonly datev: Datev;
    /** In one fiscal year. */
    readonly days: ReportDays;
    readonly lines: readonly JournalLine[];
    readonly numberOf: (account: JournalAccount) => string;
    readonly textOf: (kind: JournalLine['kind']) => string;
    readonly createdAt: number;
  },
): Buffer {
  const created = new Date(createdAt).toISOString().replaceAll(/\D/g, '');
  const year = compactDay(fiscalYearOf(from, datev));
  const title = quoted(`Gutscheine ${from.slice(0, 7)}`);
  const code = quoted(currency.code);
  // prettier-ignore
  const header = [
    '"EXTF"', 700, 21, '"Buchungsstapel"', 13, created, '', '""', '""', '""',
    datev.consultant, datev.client, year, datev.accountLength, compactDay(from), compactDay(to),
    title, '""', 1, 0, 0, code, '', '""', '', '', '""', '', '', '""', '""',
  ];
  const most = 10n ** BigInt(wholeDigitsMax + currency.decimals) - 1n;
  // A card that expired moves nothing if both parts of the liability are one account of the accountant.
  const postings = postingsOf(lines).filter(
    ({ debited, credited }) => numberOf(debited) !== numberOf(credited),
  );
  const rows = postings.flatMap(({ amount, ...posting }) =>
    partsOf(amount, most).map((part) => rowOf({ ...posting, amount: part })),
  );
  function rowOf({ day, kind, debited, credited, amount }: Posting): readonly string[] {
    const shown = formatMoney({ minor: amount, currency }).replace('.', ',');
    const cells: Readonly<Record<string, string>> = {
      'Umsatz (ohne Soll/Haben-Kz)': shown.includes(',') ? shown : `${shown},00`,
      'Soll/Haben-Kennzeichen': '"S"',
      'WKZ Umsatz': code,
      Konto: numberOf(debited),
      'Gegenkonto (ohne BU-Schlüssel)': numberOf(credited),
      Belegdatum: `${day.slice(8)}${day.slice(5, 7)}`,
      'Belegfeld 1': quoted(`GC${compactDay(day)}`),
      Buchungstext: quoted(textOf(kind).slice(0, textLengthMax)),
    };
    return columns.map((column) => cells[column] ?? '');
  }
  const text = [header, columns, ...rows].map((row) => `${row.join(';')}\r\n`).join('');
  return Buffer.from(text, 'latin1');
}

/** An amount in parts of at most `most`. */
function partsOf(amount: bigint, most: bigint): readonly bigint[] {
  const parts = Array<bigint>(Number(amount / most)).fill(most);
  return amount % most === 0n ? parts : [...parts, amount % most];
}
