/** The common parts of the pages of people and of the audit log. */

import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { tag } from '../../../pages/kit/parts.ts';

/** Links between the pages of the people and of the audit log. */
export function staffPills(page: Page, current: 'people' | 'audit'): Markup {
  const { staff: text } = page.text;
  const link = (name: 'people' | 'audit', path: string): Markup =>
    markup`<a href="${page.url(path)}"${name === current ? markup` aria-current="true"` : undefined}>${text[name]}</a>`;
  return markup`<nav class="pills" aria-label="${text.title}">${link('people', '/staff')}${link('audit', '/audit')}</nav>`;
}

export function memberTag({ text: { staff: text } }: Page, { joinedAt, disabledAt }: StaffMember): Markup {
  if (disabledAt !== null) return tag('ended', text.disabled);
  return joinedAt === null ? tag('wait', text.invited) : tag('good', text.active);
}
