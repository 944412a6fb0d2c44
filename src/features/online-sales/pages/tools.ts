/** The tools of pages for online sales. */

import { ToolKey } from '../../../platform/tools.ts';
import type { SaleKey } from '../domain/sale.ts';
import type { Checkout } from '../service/checkout.ts';

/** Pays online sales at their providers; null: the service does not sell online. */
export const checkoutTool = new ToolKey<Checkout | null>('checkout');

/** Limits the attempts to withdraw from an order. @throws Fault `too-many-requests`. */
export const withdrawalLimitTool = new ToolKey<(sale: SaleKey, now: number) => void>('limit of withdrawals');
