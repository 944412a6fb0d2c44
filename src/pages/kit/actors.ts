/** The names of those who made a change, for pages. The ledger has an actor, such as `staff:7` `api_client:9` or `mcp:9`. */

import type { Actors } from '../../core/staff/service/actors.ts';
import { fillPlain, type PageLanguage, textsOf } from './texts.ts';

export { listActors, type Actors } from '../../core/staff/service/actors.ts';

const texts = textsOf('actors');

export function actorName(actor: string | null, { members, tokens }: Actors, language: PageLanguage): string {
  const text = texts[language];
  if (actor === null) return text.job;
  const [kind, id = ''] = actor.split(':', 2);
  const clientName = (client: string): string => {
    const token = tokens.findLast(({ apiClientId }) => String(apiClientId) === client);
    return token ? fillPlain(text.token, { name: token.name }) : fillPlain(text.client, { id: client });
  };
  switch (kind) {
    case 'staff':
      return members.find((member) => String(member.id) === id)?.name ?? text.unknown;
    case 'api_client':
      return clientName(id);
    case 'mcp':
      return fillPlain(text.agent, { of: clientName(id) });
    case 'customer':
      return fillPlain(text.customer, { id });
    case 'command_line':
      return text.command;
    case 'online_sale':
      return text.buyPage;
    case 'development':
      return text.development;
    default:
      return actor;
  }
}
