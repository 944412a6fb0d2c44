/** The tools with which a page sets up the mail server of a store: a parser of its host, test emails, and checks of the domain. */

import { isIP } from 'node:net';
import type { DomainFinding, EmailTrouble, OpenedServer } from '../../emails/domain/server.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { Context } from '../../../core/storage/context.ts';
import { hostError } from '../../webhooks/delivery/url.ts';
import { noticeEmail, type Notice } from '../../emails/delivery/notice.ts';
import type { EmailOutcome } from '../../emails/delivery/outcome.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { checkSenderDomain, systemResolveText } from './sender-domain.ts';
import { storeServers } from '../../emails/delivery/store-servers.ts';
import { troubleIn, troubleOf } from './trouble.ts';

type Sending = Notice & {
  readonly store: { readonly name: string; readonly domain: string };
  readonly to: string;
};

type Tools = {
  /** The error reads after the field's name. */
  readonly parseHost: (text: string) => Parsed<string>;
  /** Sends an email about the service itself, on a connection of its own. `trouble` is null if the server accepted it. */
  readonly send: (
    server: OpenedServer,
    notice: Sending,
  ) => Promise<{
    readonly kind: EmailOutcome['kind'];
    readonly response: string;
    readonly trouble: EmailTrouble | null;
  }>;
  readonly troubleIn: (response: string) => EmailTrouble;
  readonly checkDomain: (sender: Pick<OpenedServer, 'sender' | 'host'>) => Promise<readonly DomainFinding[]>;
};

/** The longest wait for a mail server, in which a person waits for the page. */
const sendMaxMs = 20_000;

export function serverToolsOf({ random, clock }: Context, network: PublicNetwork): Tools {
  const servers = storeServers(network);
  return {
    parseHost,
    async send(server, { store, to, ...notice }) {
      const date = clock.now();
      const id = `service.${random.id()}`;
      const email = noticeEmail(notice, { id, date, store, from: server.sender, to });
      await using transport = servers.open(server);
      const outcome = await transport.send(email, { name: id, sendAt: date }, AbortSignal.timeout(sendMaxMs));
      return { kind: outcome.kind, response: outcome.response, trouble: troubleOf(outcome) };
    },
    troubleIn,
    checkDomain: (sender) => checkSenderDomain(network.resolveText ?? systemResolveText, sender),
  };
}

/** Parses the name of a mail server, as the URL parser normalizes it, because that is the name that is looked up. */
function parseHost(text: string): Parsed<string> {
  const form = 'must be the name of a mail server, such as smtp.mail.example';
  if (text.length > 300 || !/^[^\s/?#@:\\]+$/.test(text)) return rejected(form);
  const host = URL.parse(`https://${text}`)?.hostname.replace(/\.$/, '');
  if (host === undefined || isIP(host) !== 0 || host.startsWith('[')) return rejected(form);
  const error = hostError(host);
  return error === undefined ? accepted(host) : rejected(error);
}
