/** Who made a change, as the pages show it. The ledger has an actor, such as `staff:7` or `api_client:9`. */

import type { StaffMember } from '../../domain/staff/staff.ts';
import type { Store } from '../../domain/stores/store.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { listStaff } from '../../storage/staff/staff.ts';
import { listTokens, type Token } from '../../storage/stores/token.ts';
import { fillPlain, type PageLanguage, textsOf } from './texts.ts';

const texts = textsOf('actors');

/** Those who can have made a change, disabled members and revoked tokens included. */
export type Actors = { readonly members: readonly StaffMember[]; readonly tokens: readonly Token[] };

export function* listActors(store: Store): Script<Actors> {
  const [members, tokens] = yield* parallel(listStaff(store), listTokens(store.id));
  return { members, tokens };
}

export function actorName(actor: string | null, { members, tokens }: Actors, language: PageLanguage): string {
  const text = texts[language];
  if (actor === null) return text.job;
  const [kind, id = ''] = actor.split(':', 2);
  switch (kind) {
    case 'staff':
      return members.find((member) => String(member.id) === id)?.name ?? text.unknown;
    case 'api_client': {
      const token = tokens.findLast(({ apiClientId }) => String(apiClientId) === id);
      return token ? fillPlain(text.token, { name: token.name }) : fillPlain(text.client, { id });
    }
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
