/** The routes of the pages: one value each, with what a visitor must be allowed to do. */

import type { Context } from '../context.ts';
import type { Permission } from '../domain/staff.ts';
import type { Markup } from '../markup.ts';
import type { Passwords } from '../service/password.ts';
import type { SignedIn } from '../service/staff-session.ts';
import type { Storage } from '../storage/storage.ts';
import type { PageFrame } from './page.ts';
import type { ConsoleOrigin, ConsoleRequest } from './request.ts';

/** What the pages use of the service. */
export type ConsoleServices = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly passwords: Passwords;
  readonly origin: ConsoleOrigin;
  readonly frame: PageFrame;
  /** Whether the service can send emails. */
  readonly canSend: boolean;
  /** The tags of the languages of emails. */
  readonly emailLocales: readonly string[];
  /** Whether requests from this machine can open the demonstration until there is a real store. */
  readonly developmentMode: boolean;
  /** Whether a page for this machine shows the emails that are kept instead of sent. */
  readonly hasKeptEmails: boolean;
};

export type ConsoleResponse =
  | {
      readonly status: 200 | 401 | 403 | 404 | 422 | 429;
      readonly body: Markup;
      readonly cookies?: readonly string[];
    }
  /** For a script of a page. */
  | { readonly status: 200; readonly json: object; readonly cookies?: readonly string[] }
  /** After a form: the browser requests a page, so that reloading does not submit the form again. */
  | { readonly status: 303; readonly path: string; readonly cookies?: readonly string[] };

type Handler<Request> = (services: ConsoleServices, request: Request) => Promise<ConsoleResponse>;

/** A request of a member of staff. */
export type StaffRequest = ConsoleRequest & { readonly signedIn: SignedIn };

type Endpoint = { readonly method: 'GET' | 'POST'; readonly path: string };

/** A route that needs no session. */
export type OpenRoute = Endpoint & { readonly access: 'anyone'; readonly handle: Handler<ConsoleRequest> };

export type StaffRoute = Endpoint & {
  /** A permission, or any member of staff. */
  readonly access: Permission | 'staff';
  /** Whether the password or passkey must have been presented in the last ten minutes. */
  readonly isSensitive?: boolean;
  readonly handle: Handler<StaffRequest>;
};

export type ConsoleRoute = OpenRoute | StaffRoute;

/** Redirects to a path below the base path. */
export function seeOther(path: string, cookies?: readonly string[]): ConsoleResponse {
  return { status: 303, path, ...(cookies && { cookies }) };
}
