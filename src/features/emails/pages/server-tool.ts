/** The tools of pages for the mail server of a store. */

import type { Store } from '../../../core/stores/domain/store.ts';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { DomainFinding, EmailTrouble, OpenedServer } from '../domain/server.ts';

/** An email about the service itself. */
export type ServiceNotice = {
  readonly store: Pick<Store, 'name' | 'domain'>;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Shown in large letters; null: none. */
  readonly code: string | null;
  readonly locale: string;
};

/** The tools that set up the mail server of a store. */
type ServerTools = {
  /** The people who may set it. */
  readonly rule: MachineRule;
  /** The server of the operator, which all stores use; null: there is none. */
  readonly ofOperator: { readonly host: string; readonly port: number } | null;
  readonly parseHost: (text: string) => Parsed<string>;
  /** Sends an email about the service itself. */
  readonly send: (server: OpenedServer, notice: ServiceNotice) => Promise<NoticeOutcome>;
  /** Returns the meaning of a stored response of a mail server. */
  readonly troubleIn: (response: string) => EmailTrouble;
  /** Checks the records of a sender's domain. */
  readonly checkDomain: (sender: Pick<OpenedServer, 'sender' | 'host'>) => Promise<readonly DomainFinding[]>;
};

export const emailServerTool = new ToolKey<ServerTools>('email server');

type NoticeOutcome = {
  /** The response of the mail server. */
  readonly response: string;
  /** Null: the server has accepted the email. */
  readonly trouble: EmailTrouble | null;
};

export const emailServerPath = '/settings/emails/server';
