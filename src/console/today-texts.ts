/** The texts of the page of today and its parts. */

import de from './locales/de/today.json' with { type: 'json' };
import en from './locales/en/today.json' with { type: 'json' };
import es from './locales/es/today.json' with { type: 'json' };
import fr from './locales/fr/today.json' with { type: 'json' };
import type { Catalogue } from './texts.ts';

export type TodayTexts = typeof en;

export const todayTexts: Catalogue<TodayTexts> = { en, de, fr, es };
