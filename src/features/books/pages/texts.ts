/** The texts of the reports. */

import { textsOf } from '../../../pages/kit/texts.ts';

export const reportTexts = textsOf('reports');
