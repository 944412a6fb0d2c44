/** The routes of the pages: one value each, with what a visitor must be allowed to do. */

import type { Readable } from 'node:stream';
import type { Logo } from '../../core/stores/domain/logo.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Permission } from '../../core/staff/domain/staff.ts';
import type { FaultCode } from '../../core/domain/fault.ts';
import type { Markup } from '../../platform/markup.ts';
import type { SignedIn } from '../../core/staff/service/session.ts';
import type { ConsoleRequest } from './request.ts';

import type { ConsoleServices } from './services.ts';

/** A page; a throttled request has one of `throttled`. */
export type PageResponse = {
  readonly status: 200 | 401 | 403 | 404 | 409 | 422 | 503;
  readonly body: Markup;
  /** The hosts whose pages can show the page in a frame. Default: none. */
  readonly framedBy?: readonly string[];
  readonly cookies?: readonly string[];
};

/** A file that the browser stores. Its parts are read while it is sent. */
export type FileResponse = {
  readonly status: 200;
  readonly file: {
    readonly name: string;
    readonly type: string;
    readonly parts: AsyncIterable<string | Uint8Array>;
  };
  readonly cookies?: readonly string[];
};

export type ConsoleResponse =
  | PageResponse
  | (Omit<PageResponse, 'status'> & { readonly status: 429; readonly retryAfterSeconds: number })
  /** For a script of a page. */
  | { readonly status: 200; readonly json: object; readonly cookies?: readonly string[] }
  | FileResponse
  /** An email for a frame of a page, which is sandboxed and has its images in it. */
  | { readonly status: 200 | 422; readonly framed: string }
  /** A page for a frame of another one: it has the files of all pages, and no scripts. */
  | { readonly status: 200; readonly framedPage: Markup }
  /** An image of a page, which a browser keeps: another one has another URL. */
  | { readonly status: 200; readonly image: Pick<Logo, 'type' | 'content'> }
  /** Server-sent events. */
  | { readonly status: 200; readonly stream: Readable }
  /** After a form: the browser requests a page, so that reloading does not submit the form again. */
  | { readonly status: 303; readonly path: string; readonly cookies?: readonly string[] }
  /** After a form that leads to another site. */
  | { readonly status: 303; readonly url: Secret };

type Handler<Request> = (services: ConsoleServices, request: Request) => Promise<ConsoleResponse>;

/** A request of a member of staff. */
export type StaffRequest = ConsoleRequest & { readonly signedIn: SignedIn };

/** The known parts of a request without a result, which can be without a session. */
export type UnknownRequest = Pick<ConsoleRequest, 'language' | 'requestId' | 'params' | 'form'>;

/** A page for a change whose result is unknown, and the path where the browser finds it out after some seconds. */
export type UnknownPage = {
  readonly body: Markup;
  readonly refresh: { readonly path: string; readonly seconds: number };
};

type Endpoint = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The most bytes of a form, if it is longer than others. Only people who are signed in can send so much. */
  readonly formBytesMax?: number;
  /** Whether the form has a file, which browsers send as `multipart/form-data`. */
  readonly acceptsFile?: boolean;
  /**
   * Whether its responses can be files. An export has names, addresses, codes or keys that are stored: it needs a recent
   * confirmation and is in the audit log. Absent: it sends none.
   */
  readonly sendsFile?: 'export' | 'other';
  /** Whether the page compiles WebAssembly, which reads codes from the camera. */
  readonly usesWebAssembly?: boolean;
  /** Whether the page has a frame with another page. */
  readonly hasFrame?: boolean;
  /** Whether a form of the page leads to Google Wallet. */
  readonly leadsToGoogle?: boolean;
  /** Whether a form of the page leads to a payment provider, whose page can have a domain of the shop. */
  readonly leadsToPayment?: boolean;
  /** Whether its pages are compressed. They must not have a secret of a session, because the length can reveal it. */
  readonly isCompressed?: boolean;
  /** Whether other sites can submit the form: it changes nothing for anyone, and they cannot read the response. */
  readonly acceptsOtherSites?: boolean;
  /** The page for an error of a visitor, also if the database cannot be read. Default: the one for staff. */
  readonly visitorErrorPage?: (
    services: ConsoleServices,
    request: Pick<ConsoleRequest, 'acceptLanguage' | 'query'>,
    code: FaultCode,
  ) => Markup;
  /** Whether the websites of shops show the page in a frame. */
  readonly isFramed?: boolean;
  /** The page after an error of the service, if it is not known whether the change was made; undefined: as for any error. */
  readonly unknownPage?: (services: ConsoleServices, request: UnknownRequest) => UnknownPage | undefined;
};

/** A route that needs no session. */
export type OpenRoute = Endpoint & {
  readonly access: 'anyone';
  readonly handle: Handler<ConsoleRequest>;
  /** Whether a body of `formBytesMax` is read, although there is no session. Its bytes are the file of the request. */
  readonly mayUpload?: (services: ConsoleServices, params: ConsoleRequest['params']) => Promise<boolean>;
};

export type StaffRoute = Endpoint & {
  /** Returns the path at which a person continues whose session had ended. Default: the page of the form. */
  readonly resumed?: (request: UnknownRequest) => string;
  /** A permission, or any member of staff. */
  readonly access: Permission | 'staff';
  /** Whether the password or passkey must have been presented in the last ten minutes. */
  readonly isSensitive?: boolean;
  /** Whether a request comes from an open page and not from the person, so that it does not extend the session. */
  readonly isAutomatic?: boolean;
  readonly handle: Handler<StaffRequest>;
  /** The page for a form that is longer than `formBytesMax`, with an error at its field. The request has no form. */
  readonly tooLarge?: Handler<StaffRequest>;
};

export type ConsoleRoute = OpenRoute | StaffRoute;

/** A page that says that the request can be repeated later. */
export function throttled(page: PageResponse, waitMs: number): ConsoleResponse {
  return { ...page, status: 429, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
}

/** Redirects to a path below the base path. */
export function seeOther(path: string, cookies?: readonly string[]): ConsoleResponse {
  return { status: 303, path, ...(cookies && { cookies }) };
}
