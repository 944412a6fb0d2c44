/** The pages of the API reference: an index, guides, one page per operation, the objects and the service's own paths. */

import { createGiftCard } from '../../../core/cards/api/cards.ts';
import { operations } from '../../../api/index.ts';
import { fixedCodes } from '../../../core/cards/domain/fixed-codes.ts';
import { eventTypes } from '../../../core/events/domain/event-type.ts';
import { scopes } from '../../../core/stores/domain/store.ts';
import { pagePaths } from '../../../http/page-paths.ts';
import { problems } from '../../../http/problem.ts';
import { programCommand } from '../../../platform/program-files.ts';
import { anchorOf, prose, type PageBlock, type ReferencePage } from './content.ts';
import { errorExampleOf } from './errors.ts';
import { guides } from './guides.ts';
import { linkTo, operationPage, requestSamples, type SampleService } from './operation-page.ts';
import { unknownServiceUrl } from './operation.ts';
import { objects, objectsIn, rowsOf, textOf } from './schema.ts';
import { servicePages } from './service-pages.ts';
import * as texts from './texts.ts';

const guideGroup = 'Guides';

/** All pages in the order of the navigation, the index first. */
export function allPages(service: SampleService): readonly ReferencePage[] {
  const tags = texts.tags.map(({ name }) => name);
  const ofOperations = operations
    .map((operation) => operationPage(operation, service))
    .toSorted((one, other) => tags.indexOf(one.group) - tags.indexOf(other.group));
  const pages = [
    ...guides.map((guide) => guidePage(guide, service.baseUrl)),
    ...ofOperations,
    objectsPage(),
    servicePage(),
  ];
  return [indexPage(pages, service), ...pages];
}

function indexPage(pages: readonly ReferencePage[], service: SampleService): ReferencePage {
  const { baseUrl, token } = service;
  const groups = Map.groupBy(pages, ({ group }) => group);
  const descriptions = new Map<string, string>(
    texts.tags.map(({ name, description }) => [name, description]),
  );
  const blocks = [...groups].flatMap(([group, members]): readonly PageBlock[] => [
    prose(`## ${group}`, descriptions.get(group) ?? ''),
    {
      kind: 'links',
      links: members.map(({ name, title, note, endpoint }) => ({
        target: name,
        title,
        note: endpoint?.path ?? note,
        method: endpoint?.method,
      })),
    },
  ]);
  return {
    name: '',
    title: 'Largesse API',
    note: texts.introduction,
    group: '',
    blocks: [
      prose(
        texts.introduction,
        'The API has JSON and form bodies, JSON responses and plain HTTP methods. Every write is [safe to retry](idempotency) with an `Idempotency-Key`, and every [error](errors) has a stable code.',
        '## Base URL',
        `All paths are relative to the URL of the service: \`${baseUrl}\`.`,
        '## First call',
        `Every request needs an [access token](authentication). Create one in the folder of the service. Samples read it from the environment:`,
      ),
      {
        kind: 'sample',
        caption: 'Create a token',
        language: 'sh',
        code:
          token === null
            ? `export TOKEN=$(${programCommand} token create --name shop --json |\n  grep -o 'lgs_[^"]*')`
            : `export TOKEN=${token}`,
      },
      prose('Issue a gift card, and keep the `code` of the response: it is returned only once.'),
      requestSamples(createGiftCard, service),
      prose(
        'In [development mode](authentication#development-mode) requests from the same machine need no token.',
      ),
      ...blocks,
    ],
    samples: [],
  };
}

function guidePage(
  { name, title, note, text: guide }: (typeof guides)[number],
  baseUrl: string,
): ReferencePage {
  const generated = generatedBlocks[name]?.() ?? [];
  // A function, because a URL can contain the `$` of a replacement pattern.
  const text = guide.replaceAll(unknownServiceUrl, () => baseUrl);
  return { name, title, note, group: guideGroup, blocks: [prose(text), ...generated], samples: [] };
}

/** The generated parts of guides: about all operations, objects or errors. */
const generatedBlocks: Readonly<Record<string, (() => readonly PageBlock[]) | undefined>> = {
  sandbox: () => [
    {
      kind: 'rows',
      rows: Object.values(fixedCodes).map(({ code, about }) => ({ name: code, type: '', text: `${about}.` })),
    },
  ],
  authentication: () => [
    prose(
      '## Scopes',
      'Scopes do not imply each other. If an operation lists several, any one of them is enough.',
    ),
    {
      kind: 'rows',
      rows: scopes.map((scope) => ({
        name: scope,
        type: '',
        text: `${texts.scopeTexts[scope]} ${operations
          .filter((operation) => operation.scopes.includes(scope))
          .map(linkTo)
          .join(', ')}.`,
      })),
    },
  ],
  errors: () => [
    {
      kind: 'sample',
      caption: 'Response 422',
      language: 'json',
      code: JSON.stringify(errorExampleOf('invalid-parameter'), null, 2),
    },
    prose('## Codes'),
    ...Object.entries(problems).map(([code, { status, title, detail }]) =>
      prose(`### ${code}`, `**${status} ${title}.** ${detail}`),
    ),
  ],
  events: () => [prose('## Types', eventTypes.map((type) => `- \`${type}\``).join('\n'))],
};

/** Links to the operations whose responses contain an object. */
function returnedBy(objectName: string): string {
  return operations
    .filter(({ documentation: { response } }) =>
      Object.values('members' in response.content ? response.content.members : {}).some((schema) =>
        objectsIn(schema).includes(objectName),
      ),
    )
    .map(linkTo)
    .join(', ');
}

function objectsPage(): ReferencePage {
  const blocks = Object.entries(objects).flatMap(([name, schema]): readonly PageBlock[] => {
    const users = returnedBy(name);
    return [
      prose(`## ${name}`, textOf(schema, 'response'), users !== '' && `Returned by: ${users}.`),
      { kind: 'rows', rows: rowsOf(schema, 'response') },
    ];
  });
  const list = Object.keys(objects).map((name) => `- [${name}](objects#${anchorOf(name)})`);
  return {
    name: 'objects',
    title: 'Objects',
    note: 'The fields of every record in responses and events',
    group: 'Reference',
    blocks: [
      prose(
        'The records in responses and events. Every field is always present, unless it is optional.',
        list.join('\n'),
      ),
      ...blocks,
    ],
    samples: [],
  };
}

function servicePage(): ReferencePage {
  const blocks = Object.entries(servicePages).map(([name, { summary, description, success, errors }]) => {
    const path = pagePaths[name as keyof typeof servicePages];
    const codes = errors.map((code) => `[\`${code}\`](errors#${code})`);
    return prose(
      `## ${summary}`,
      `\`GET ${path}\``,
      description,
      `**200** ${success}`,
      codes.length > 0 && `Errors: ${codes.join(', ')}.`,
    );
  });
  return {
    name: 'service',
    title: 'Service',
    note: 'Health, readiness, metrics and the OpenAPI document',
    group: 'Reference',
    blocks: [
      prose(
        'The state of the service. These paths need no access token, and also work at the root of the service, outside the base path.',
      ),
      ...blocks,
    ],
    samples: [],
  };
}
