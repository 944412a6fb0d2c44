/** The texts of the page of today and its parts. */

import { textsOf, type Texts } from '../../../pages/kit/texts.ts';

export type TodayTexts = Texts['today'];

export const todayTexts = textsOf('today');
