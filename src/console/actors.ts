/** Who made a change, as the pages show it. The ledger has an actor, such as `staff:7` or `api_client:9`. */

import type { StaffMember } from '../domain/staff.ts';
import de from './locales/de/actors.json' with { type: 'json' };
import en from './locales/en/actors.json' with { type: 'json' };
import es from './locales/es/actors.json' with { type: 'json' };
import fr from './locales/fr/actors.json' with { type: 'json' };
import { fillPlain, type Catalogue, type PageLanguage } from './texts.ts';

const texts: Catalogue<typeof en> = { en, de, fr, es };

/** @param members the store's staff, disabled members included. */
export function actorName(
  actor: string | null,
  members: readonly Pick<StaffMember, 'id' | 'name'>[],
  language: PageLanguage,
): string {
  const text = texts[language];
  if (actor === null) return text.job;
  const [kind, id = ''] = actor.split(':', 2);
  switch (kind) {
    case 'staff':
      return members.find((member) => String(member.id) === id)?.name ?? text.unknown;
    case 'api_client':
      return fillPlain(text.client, { id });
    case 'customer':
      return fillPlain(text.customer, { id });
    case 'command_line':
      return text.command;
    case 'development':
      return text.development;
    default:
      return actor;
  }
}
