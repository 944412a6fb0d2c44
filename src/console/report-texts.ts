/** The texts of the reports. */

import de from './locales/de/reports.json' with { type: 'json' };
import en from './locales/en/reports.json' with { type: 'json' };
import es from './locales/es/reports.json' with { type: 'json' };
import fr from './locales/fr/reports.json' with { type: 'json' };
import type { Catalogue } from './texts.ts';

export const reportTexts: Catalogue<typeof en> = { en, de, fr, es };
