/** A page as its handlers see it: the request, the texts of its language, the store, and what builds its HTML. */

import type { Money } from '../../core/money/domain/money.ts';
import type { StaffMember } from '../../core/staff/domain/staff.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import type { ByStaff } from '../../core/staff/service/as-staff.ts';
import type { Context } from '../../core/storage/context.ts';
import type { Script } from '../../database/sql/sql.ts';
import { amountText, dayText, timeElement } from './format.ts';
import { storedIdIn } from './ids.ts';
import { readById } from './lookups.ts';
import { keyInput, keyOf, runOnce, type Json, type Outcome } from './once.ts';
import { shellPage } from './page.ts';
import { formText, type ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './services.ts';
import type { ConsoleResponse, OpenRoute, PageResponse, StaffRequest, StaffRoute } from './route.ts';
import { catalogue, type PageLanguage, type Texts } from './texts.ts';

/** The person who sent a request, for what the person changes. */
function byOf({ signedIn: { store, member, session } }: Pick<StaffRequest, 'signedIn'>): ByStaff {
  return { store, member, tillId: session.tillId, locationId: session.locationId };
}

type Shown = Omit<Parameters<typeof shellPage>[2], 'path'> & { readonly status?: PageResponse['status'] };

/** A page that needs no session. */
export class VisitorPage<Request extends ConsoleRequest = ConsoleRequest> {
  readonly services: ConsoleServices;
  readonly request: Request;
  readonly ctx: Context;
  readonly language: PageLanguage;
  readonly text: Texts;
  /** The path before those of all pages, without a slash at its end. */
  readonly basePath: string;

  constructor(services: ConsoleServices, request: Request) {
    this.services = services;
    this.request = request;
    this.ctx = services.ctx;
    this.language = request.language;
    this.text = catalogue[request.language];
    this.basePath = services.frame.basePath;
  }

  /** Returns the text that was typed into a field, without blanks around it. */
  typed(name: string): string {
    return formText(this.request, name);
  }

  /** A parameter of the path; empty: the path has none with the name. */
  param(name: string): string {
    return this.request.params[name] ?? '';
  }

  url(path: string): string {
    return `${this.basePath}${path}`;
  }

  async read<Result>(script: () => Script<Result>): Promise<Result> {
    return await this.services.storage.read(script);
  }

  async write<Result>(script: () => Script<Result>): Promise<Result> {
    return await this.services.storage.write(script);
  }

  amount(money: Money): string {
    return amountText(money, this.language);
  }

  /** A link that looks like a button. @param label for screen readers, if the text alone does not say what it is about. */
  link(path: string, text: MarkupPart, kind = '', label?: string): Markup {
    const aria = label === undefined ? undefined : markup` aria-label="${label}"`;
    return markup`<a class="button ${kind}" href="${this.url(path)}"${aria}>${text}</a>`;
  }
}

/** A page for a member of staff. */
export class Page extends VisitorPage<StaffRequest> {
  readonly store: Store;
  readonly member: StaffMember;
  readonly by: ByStaff;
  /** The instant (ms) of the request, for cards, holds, emails and books. */
  readonly now: number;
  /** The same in the time of the machine, for tokens, sessions, backups and certificates. */
  readonly realNow: number;

  constructor(services: ConsoleServices, request: StaffRequest) {
    super(services, request);
    this.store = request.signedIn.store;
    this.member = request.signedIn.member;
    this.by = byOf(request);
    this.now = services.ctx.clock.now();
    this.realNow = services.ctx.wallClock.now();
  }

  /** The key of the submitted form; undefined: the server did not make the form. */
  get key(): string | undefined {
    return keyOf(this.request);
  }

  /** A parameter of the path that is an id without a public form. @throws Fault `not-found` if it is not an id. */
  storedId(name?: string): number {
    return storedIdIn(this.request, name);
  }

  /** The id of something of the store, as its URLs have it. */
  publicId(id: number): number {
    return this.ctx.keys.publicIds.of(id);
  }

  /** Reads what an id in the path names, as `readById`. */
  async readById<Result>(find: (id: number) => Script<Result>, name?: string): Promise<Result> {
    return await readById(this.services, this.request, find, name);
  }

  /** Runs a change once for a key of this person, as `runOnce`. */
  async once<Result extends Json>(key: string, script: () => Script<Result>): Promise<Outcome<Result>> {
    return await runOnce(this.services, this.request, key, script);
  }

  /** A day `YYYY-MM-DD`, or that of an instant (ms). */
  day(at: string | number): MarkupPart {
    return typeof at === 'string'
      ? dayText(at, this.language)
      : timeElement(at, this.store, this.language, { dateStyle: 'medium' });
  }

  time(at: number, options?: Intl.DateTimeFormatOptions): Markup {
    return timeElement(at, this.store, this.language, options);
  }

  /** A form that makes its change once. @param key that of a form that is shown again. */
  form(path: string, body: MarkupPart, key?: string): Markup {
    return markup`<form class="stack" method="post" action="${this.url(path)}">${keyInput(this.ctx, key)}
${body}</form>`;
  }

  /** @param section the page of the navigation that contains this one; null: none does. */
  show(section: string | null, { status = 200, ...page }: Shown): PageResponse {
    return { status, body: shellPage(this.services, this.request, { ...page, path: section }) };
  }
}

type Handle<Of = Page> = (page: Of) => ConsoleResponse | Promise<ConsoleResponse>;

/** A permission or any member of staff, and whether the person must have confirmed to be present. */
type Access = StaffRoute['access'] | { readonly sensitive: StaffRoute['access'] };

type Named = 'method' | 'path' | 'access' | 'isSensitive' | 'handle' | 'tooLarge';
type Options = Omit<StaffRoute, Named> & { readonly tooLarge?: Handle };
type OpenOptions = Omit<OpenRoute, Named>;

function onPage(handle: Handle): StaffRoute['handle'] {
  return async (services, request) => await handle(new Page(services, request));
}

function route(
  endpoint: Pick<StaffRoute, 'method' | 'path'>,
  access: Access,
  handle: Handle,
  { tooLarge, ...options }: Options = {},
): StaffRoute {
  const allowed = typeof access === 'string' ? { access } : { access: access.sensitive, isSensitive: true };
  return {
    ...endpoint,
    ...options,
    ...allowed,
    handle: onPage(handle),
    ...(tooLarge && { tooLarge: onPage(tooLarge) }),
  };
}

export function get(path: string, access: Access, handle: Handle, options?: Options): StaffRoute {
  return route({ method: 'GET', path }, access, handle, options);
}

export function post(path: string, access: Access, handle: Handle, options?: Options): StaffRoute {
  return route({ method: 'POST', path }, access, handle, options);
}

/** A route that needs no session. */
export function openRoute(
  method: 'GET' | 'POST',
  path: string,
  handle: Handle<VisitorPage>,
  options?: OpenOptions,
): OpenRoute {
  return {
    method,
    path,
    access: 'anyone',
    ...options,
    handle: async (services, request) => await handle(new VisitorPage(services, request)),
  };
}
