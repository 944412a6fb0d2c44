/** The texts of the reports. */

import { textsOf } from '../kit/texts.ts';

export const reportTexts = textsOf('reports');
