/** Credentials on the reference page: the security schemes, and which of them an operation accepts. */
import { renderInline, renderMarkdown } from './markdown.ts';
import { anchorOf, joinMarkup, markup } from './markup.ts';
import type { MarkupPart, Markup } from './markup.ts';
import type { SecurityRequirement, SecurityScheme } from './document.ts';
import { renderFacts } from './fields.ts';

/** The id of a security scheme's description. */
export function schemeAnchor(name: string): string {
  return anchorOf('auth', name);
}

/** A scheme as an entry of a `<dl>`. */
export function renderScheme(name: string, scheme: SecurityScheme): Markup {
  const { description } = scheme;
  return markup`<div id="${schemeAnchor(name)}">
<dt>${name} <span class="type">${wayOf(scheme)}</span></dt>
<dd>${description === undefined ? undefined : renderMarkdown(description)}${renderFlows(scheme)}</dd>
</div>`;
}

/** Where a request contains the credential, in words. */
function wayOf(scheme: SecurityScheme): Markup {
  const { type, name = '', in: place = '', scheme: http = '' } = scheme;
  switch (type) {
    case 'http':
      return markup`<code>Authorization: ${http.charAt(0).toUpperCase()}${http.slice(1)} …</code>`;
    case 'apiKey':
      return place === 'query'
        ? markup`query parameter <code>${name}</code>`
        : markup`${place} <code>${name}</code>`;
    case 'openIdConnect':
      return markup`OpenID Connect, <code>${scheme.openIdConnectUrl ?? ''}</code>`;
    default:
      return markup`${type}`;
  }
}

function renderFlows({ flows = {} }: SecurityScheme): readonly Markup[] {
  return Object.entries(flows).map(([name, flow]) => {
    const addresses = [flow.authorizationUrl, flow.tokenUrl].filter((address) => address !== undefined);
    const scopes = Object.entries(flow.scopes ?? {}).map(
      ([scope, meaning]) => markup`<li><code>${scope}</code> ${renderInline(meaning)}</li>`,
    );
    return markup`<p>Flow ${name}: ${joinMarkup(
      addresses.map((address) => markup`<code>${address}</code>`),
      ', ',
    )}</p><ul>${scopes}</ul>`;
  });
}

/** The credentials that an operation accepts, and their scopes. Without requirements, none is needed. */
export function renderSecurity(requirements: readonly SecurityRequirement[]): Markup {
  if (requirements.length === 0) return renderFacts([['Credential', 'none needed']]);
  const scopes = new Set(requirements.map((requirement) => Object.values(requirement).flat().join(' ')));
  const [shared] = scopes;
  const alternatives = requirements.map((requirement) => {
    const schemes = Object.entries(requirement).map(([name, own]): MarkupPart => {
      const link = markup`<a href="#${schemeAnchor(name)}">${name}</a>`;
      return scopes.size === 1 || own.length === 0 ? link : markup`${link} (${scopeList(own)})`;
    });
    return schemes.length === 0 ? 'none' : joinMarkup(schemes, ' and ');
  });
  const credential = joinMarkup(alternatives, ' or ');
  if (scopes.size > 1 || shared === undefined || shared === '')
    return renderFacts([['Credential', credential]]);
  return renderFacts([
    ['Credential', credential],
    ['Scope', scopeList(shared.split(' '))],
  ]);
}

function scopeList(scopes: readonly string[]): Markup {
  const codes = [...new Set(scopes)].map((scope) => markup`<code>${scope}</code>`);
  return joinMarkup(codes, ', ');
}
