/** The journal’s files for accounting programs: a panel of the page, and the files. */

import type { ReportDays } from '../domain/report-days.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import {
  journalFile,
  journalFileProblem,
  journalFormats,
  type JournalFileProblem,
  type JournalFormat,
  type JournalSource,
} from '../service/journal-file.ts';
import type { JournalQuery, JournalReport } from '../service/reports.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { catalogue, fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { accountantPath } from '../../accountants/pages/paths.ts';
import type { ReportContext } from './page.ts';
import { reportTexts } from './texts.ts';

const taxRateLengthMax = 50;

/** The name of the tax rate in the request. */
function taxRateIn({ request, language }: ReportContext): string {
  const typed = (request.query.get('tax_rate') ?? '').slice(0, taxRateLengthMax).trim();
  return typed === '' ? reportTexts[language].programs.taxRateUsual : typed;
}

/** The journal as the source of files. @param taxRate default: the usual name in the language. */
export function journalSourceOf(
  { store, language, now, taxRate }: SourceParts,
  { lines, summary }: { readonly lines: JournalReport['lines']; readonly summary: ReportDays },
): JournalSource {
  const text = reportTexts[language];
  return {
    store,
    days: summary,
    lines,
    usualNameOf: (account) => text.accounts[account],
    textOf: (kind) => text.kinds[kind],
    taxRate: taxRate ?? text.programs.taxRateUsual,
    now,
  };
}

type SourceParts = Pick<ReportContext, 'store' | 'language'> & {
  /** ms */
  readonly now: number;
  readonly taxRate?: string;
};

function sourceOf(context: ReportContext, journal: JournalReport): JournalSource {
  const { store, source, language } = context;
  return journalSourceOf({ store, language, now: source.now, taxRate: taxRateIn(context) }, journal);
}

type Exported = (
  context: ReportContext,
  journal: JournalReport,
  query: JournalQuery,
) => { readonly name: string; readonly bytes: Buffer } | undefined;

/** The files by the names of their paths. A journal that is split or limited has none. */
export const journalExports: Readonly<Record<string, Exported>> = Object.fromEntries(
  journalFormats.map((format): [string, Exported] => [
    format,
    (context, journal, query) => {
      if (query.by !== undefined || query.locations) return undefined;
      const source = sourceOf(context, journal);
      return journalFileProblem(format, source) ? undefined : journalFile(format, source);
    },
  ]),
);

/** The files that can be made, and why the others cannot. */
export function programsPanel(context: ReportContext, journal: JournalReport): Markup | undefined {
  if (journal.lines.length === 0) return undefined;
  const { language } = context;
  const text = reportTexts[language].programs;
  const source = sourceOf(context, journal);
  const rows = journalFormats.map((format) => {
    const problem = journalFileProblem(format, source);
    const shown = problem ? problemText(context, problem) : form(format, context, journal);
    return markup`<div class="stack"><h3>${text.names[format]}</h3>${shown}</div>`;
  });
  return markup`<section class="panel stack" aria-labelledby="programs"><h2 id="programs">${text.title}</h2><p class="soft small">${text.hint}</p>
${rows}${accountantLink(context)}</section>`;
}

/** For owners, who can have the file sent each month. */
function accountantLink({ request, basePath, language }: ReportContext): Markup | undefined {
  if (!isPermitted(request.signedIn.member, 'changeSettings')) return undefined;
  return markup`<p><a href="${basePath}${accountantPath}">${catalogue[language].accountant.link}</a></p>`;
}

function form(format: JournalFormat, context: ReportContext, { summary }: JournalReport): Markup {
  const { basePath, language } = context;
  const text = reportTexts[language].programs;
  const field =
    format === 'xero'
      ? inputField({
          name: 'tax_rate',
          label: text.taxRate,
          hint: text.taxRateHint,
          value: taxRateIn(context),
          autocomplete: 'on',
        })
      : undefined;
  return markup`<form class="row" action="${basePath}/books/journal/${format}.csv"><input type="hidden" name="from" value="${summary.from}"><input type="hidden" name="to" value="${summary.to}">${field}<button class="button">${text.download}</button></form>`;
}

function problemText(context: ReportContext, problem: JournalFileProblem): Markup {
  const { language, basePath, request } = context;
  const text = reportTexts[language];
  const said = problemSentence(problem, language);
  const canChange =
    (problem.name === 'accounts' || problem.name === 'datev') &&
    isPermitted(request.signedIn.member, 'changeSettings');
  const link = canChange
    ? markup` <a href="${basePath}/settings#books">${text.programs.settings}</a>`
    : undefined;
  return markup`<p class="soft">${said}${link}</p>`;
}

/** Says why a file cannot be made. */
export function problemSentence(problem: JournalFileProblem, language: PageLanguage): string {
  const text = reportTexts[language];
  if (problem.name !== 'accounts') return text.programs[problem.name];
  const names = problem.accounts.map((account) => text.accounts[account]);
  return fillPlain(text.programs.accounts, { accounts: new Intl.ListFormat(language).format(names) });
}
