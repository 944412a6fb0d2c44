/** The pages of printed cards. People who read cards see the counts; those who issue many cards add, read and void codes. */

import { get, post } from '../../../pages/kit/page-context.ts';
import type { FeaturePages } from '../../../pages/kit/server.ts';
import { tableFormats } from '../../../pages/kit/table-file.ts';
import { codesFile, printPage } from './codes.ts';
import { stockPage } from './detail.ts';
import { listPage } from './list.ts';
import { newStockPage } from './new.ts';
import { voidPage } from './void.ts';

const path = '/cards/stock';

export const stockPages: FeaturePages = {
  routes: [
    get(path, 'readStore', listPage),
    get(`${path}/new`, 'issueBatches', newStockPage.show),
    post(`${path}/new`, 'issueBatches', newStockPage.submit),
    get(`${path}/:id`, 'readStore', stockPage),
    ...tableFormats.map((format) =>
      post(`${path}/:id/codes.${format}`, { sensitive: 'issueBatches' }, (page) => codesFile(page, format), {
        sendsFile: 'export',
      }),
    ),
    get(`${path}/:id/print`, { sensitive: 'issueBatches' }, printPage),
    get(`${path}/:id/void`, 'issueBatches', voidPage.show),
    post(`${path}/:id/void`, 'issueBatches', voidPage.submit),
  ],
};
