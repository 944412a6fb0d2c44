/** The findings about the domain of a sender, in plain words. */

import { emailServerTool } from '../../emails/pages/server-tool.ts';
import type { DomainFinding, EmailServer } from '../../emails/domain/server.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

const tags = { good: 'good', weak: 'wait', bad: 'bad', unknown: 'wait' } as const;

/**
 * @param server undefined: there is no sender yet.
 * @param path of the page with the findings.
 */
export async function domainPanel(
  page: Page,
  server: Pick<EmailServer, 'sender' | 'host'> | undefined,
  path: string,
): Promise<Markup | undefined> {
  if (!server) return undefined;
  const text = page.text.senderDomain;
  const domain = server.sender.slice(server.sender.lastIndexOf('@') + 1);
  const isAsked = page.request.query.get('check') === 'domain';
  const findings = isAsked ? await page.services.tools.of(emailServerTool).checkDomain(server) : [];
  const items = findings.map((finding) => markup`<li>${itemOf(page, finding, domain)}</li>`);
  const list = isAsked ? markup`<ul class="notices">${items}</ul>` : undefined;
  const button = page.link(path, isAsked ? text.again : fillPlain(text.check, { domain }));
  return markup`<section class="panel stack" aria-labelledby="domain"><h2 id="domain">${text.title}</h2><p class="soft">${text.lead}</p>${list}<div class="row">${button}</div></section>`;
}

function itemOf(page: Page, { about, level, finding, value }: DomainFinding, domain: string): Markup {
  const text = page.text.senderDomain;
  const said = sentenceOf(page, { about, finding, value });
  const record =
    recordsIn.has(finding) && value !== '' ? markup`<br><code dir="ltr">${value}</code>` : undefined;
  const tag = markup`<span class="tag ${tags[level]}">${text.levels[level]}</span>`;
  return markup`${tag} <strong>${text.names[about]}</strong> ${fillPlain(said, { domain, value })}${record}`;
}

/** The findings whose value is a record, which has a line of its own. */
const recordsIn: ReadonlySet<DomainFinding['finding']> = new Set(['missing', 'withoutServer']);

function sentenceOf(
  page: Page,
  { about, finding, value }: Pick<DomainFinding, 'about' | 'finding' | 'value'>,
): string {
  const { spf, dkim, dmarc, address, noResponse } = page.text.senderDomain;
  if (finding === 'noResponse') return noResponse;
  const texts: Readonly<Record<string, string>> = { spf, dkim, dmarc, address }[about];
  const name = about === 'spf' && finding === 'missing' && value === '' ? 'missingUnknown' : finding;
  return texts[name] ?? noResponse;
}
